// Has har-to-openapi describe each host of a HAR and prints what it found of
// each operation, a JSON object a line. Usage: node openapi.js FILE
'use strict'
const fs = require('fs')
const { generateSpecs } = require('har-to-openapi')

async function main (file) {
  const specs = await generateSpecs(JSON.parse(fs.readFileSync(file, 'utf8')), { relaxedMethods: true, filterStandardHeaders: false })
  for (const { domain, spec } of specs) {
    for (const [path, item] of Object.entries(spec.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if (!operation.responses) continue
        console.log(JSON.stringify({ host: domain, path, method: method.toUpperCase(), statuses: Object.keys(operation.responses) }))
      }
    }
  }
}
main(process.argv[2]).catch((err) => { console.error(err); process.exitCode = 1 })
