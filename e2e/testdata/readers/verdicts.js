// Says of each HAR named whether JSON.parse, har-validator and har-to-k6 take
// it: a JSON object a line, with what is said against it, or null.
// Usage: node verdicts.js FILE…
'use strict'
const fs = require('fs')
const validate = require('har-validator')
const { liHARToK6Script } = require('har-to-k6')

async function refusal (take) {
  try {
    await take()
    return null
  } catch (err) {
    return err.errors ? JSON.stringify(err.errors) : String(err)
  }
}

async function main (files) {
  console.warn = () => {}
  for (const file of files) {
    const read = () => JSON.parse(fs.readFileSync(file, 'utf8'))
    const verdict = { json: await refusal(read) }
    if (verdict.json === null) {
      verdict['har-validator'] = await refusal(() => validate.har(read()))
      verdict.k6 = await refusal(() => liHARToK6Script(read()))
    }
    console.log(JSON.stringify(verdict))
  }
}
main(process.argv.slice(2))
