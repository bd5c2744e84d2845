// Has har-to-k6 make a script of a HAR, runs that script on a k6 that asks
// nobody, and prints the requests that it would make, a JSON object a line.
// Usage: node k6.js FILE
'use strict'
const fs = require('fs')
const { liHARToK6Script } = require('har-to-k6')

async function main (file) {
  const { main } = await liHARToK6Script(JSON.parse(fs.readFileSync(file, 'utf8')))
  const ask = (method, url, body, params) => {
    const headers = Object.entries(params?.headers ?? {})
    console.log(JSON.stringify({ method, url, posted: body ?? null, requestHeaders: headers }))
  }
  const k6 = {
    http: {
      get: (url, params) => ask('GET', url, null, params),
      head: (url, params) => ask('HEAD', url, null, params),
      del: (url, body, params) => ask('DELETE', url, body, params),
      request: ask
    },
    group: (name, f) => f(),
    sleep: () => {}
  }
  for (const method of ['options', 'post', 'put', 'patch']) {
    k6.http[method] = (url, body, params) => ask(method.toUpperCase(), url, body, params)
  }
  const script = main.replace(/^import .*$/gm, '').replace(/^export default /gm, '').replace(/^export /gm, '')
  new Function(...Object.keys(k6), script + '\nmain()')(...Object.values(k6))
}
main(process.argv[2]).catch((err) => { console.error(err); process.exitCode = 1 })
