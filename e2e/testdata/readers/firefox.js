// Runs within Firefox's own code: has the importer of its DevTools read a HAR,
// and returns what that makes of each entry.
const { require } = ChromeUtils.importESModule('resource://devtools/shared/loader/Loader.sys.mjs')
const { HarImporter } = require('resource://devtools/client/netmonitor/src/har/har-importer.js')

const requests = new Map()
new HarImporter({
  clearRequests () {},
  addTimingMarker () {},
  addRequest (id, request) { requests.set(id, request) },
  updateRequest (id, more) { Object.assign(requests.get(id), more) }
}).import(arguments[0])

const pairs = (list) => list.map((x) => [x.name, x.value])
const base64 = (text) => {
  let bytes = ''
  for (const b of new TextEncoder().encode(text)) bytes += String.fromCharCode(b)
  return btoa(bytes)
}
return [...requests.values()].map((r) => {
  const { text, encoding } = r.responseContent.content
  return {
    started: new Date(r.startedMs).toISOString(),
    method: r.method,
    url: r.url,
    requestHeaders: pairs(r.requestHeaders.headers),
    requestCookies: pairs(r.requestCookies),
    posted: r.requestPostData.postData.text ?? null,
    status: r.status,
    phrase: r.statusText,
    headers: pairs(r.responseHeaders.headers),
    cookies: pairs(r.responseCookies),
    type: r.mimeType,
    size: r.contentSize,
    wireSize: r.transferredSize,
    content: text === undefined ? null : encoding === 'base64' ? text : base64(text),
    time: Math.round(r.totalTime * 1000) / 1000,
    timings: r.eventTimings.timings,
    server: r.remoteAddress ?? '',
    port: Number(r.remotePort ?? 0)
  }
})
