// Says on standard output what har-validator finds wrong with each HAR named:
// nothing when it is valid. Usage: node har-validator.js FILE…
'use strict'
const fs = require('fs')
const validate = require('har-validator')

async function main (files) {
  for (const file of files) {
    try {
      await validate.har(JSON.parse(fs.readFileSync(file, 'utf8')))
    } catch (err) {
      const faults = err.errors || [{ message: String(err) }]
      for (const fault of faults) console.log(`${file}: ${fault.dataPath || ''} ${fault.message} ${JSON.stringify(fault.params || {})}`)
      process.exitCode = 1
    }
  }
}
main(process.argv.slice(2))
