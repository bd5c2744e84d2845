// Runs in a page of DevTools' own: says of each HAR whether its importer takes
// it, or what it throws.
async (texts) => {
  const { HARFormat, Importer } = await import('devtools://devtools/bundled/models/har/har.js')
  return texts.map((text) => {
    try {
      Importer.Importer.requestsFromHARLog(new HARFormat.HARRoot(JSON.parse(text)).log)
      return { devtools: null }
    } catch (err) {
      return { devtools: String(err) }
    }
  })
}
