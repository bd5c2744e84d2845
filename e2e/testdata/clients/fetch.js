'use strict'
// Node's own fetch reads the proxy from the environment from 22.21 and 24 on;
// before, undici's fetch is told of it.
const assert = require('node:assert')
const [tls, plain, proxy] = process.argv.slice(2)
const [major, minor] = process.versions.node.split('.').map(Number)
const itself = major >= 24 || (major === 22 && minor >= 21)
const undici = require('undici')
const agent = itself ? null : new undici.ProxyAgent(proxy)
const ask = (url, options) => itself ? fetch(url, options) : undici.fetch(url, { ...options, dispatcher: agent })
const text = async (url, options) => (await ask(url, options)).text()

const main = async () => {
  for (const base of ['https://' + tls, 'http://' + plain]) {
    for (const coding of ['gzip', 'br']) {
      assert.equal((await (await ask(base + '/coded/' + coding)).json()).coding, coding)
    }
    assert.equal(await text(base + '/echo', { method: 'POST', body: JSON.stringify({ name: 'ü' }) }), 'POST {"name":"ü"}')
    const stream = new ReadableStream({
      start (c) { for (let i = 0; i < 20; i++) c.enqueue(new Uint8Array(10000).fill(65)); c.close() }
    })
    assert.equal((await text(base + '/echo?stream', { method: 'POST', body: stream, duplex: 'half' })).length, 5 + 200000)
    assert.equal((await text(base + '/large?size=2500000')).length, 2500000)
    const moved = await ask(base + '/moved')
    assert.ok(moved.redirected && moved.url.endsWith('/landed?by=redirect'))
    assert.deepEqual(await moved.json(), { landed: 'redirect' })
    assert.equal((await text(base + '/events')).match(/event: count/g).length, 3)
    const many = await Promise.all(Array.from({ length: 30 }, (_, i) => text(base + '/echo?n=' + i)))
    assert.ok(many.every((t) => t === 'GET '))
    const form = itself ? new FormData() : new undici.FormData()
    form.append('file', new Blob([new Uint8Array(50000).fill(200)]), 'bytes.bin')
    assert.equal((await (await ask(base + '/upload', { method: 'POST', body: form })).json())[0].FileName, 'bytes.bin')
    assert.equal((await ask(base + '/status/404')).status, 404)
    assert.equal(await text(base + '/status/404'), 'this is a 404\n')
  }
  if (agent) await agent.close()
  console.log('done')
}
main()
