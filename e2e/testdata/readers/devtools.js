// Runs in a page of DevTools' own: has its importer read a HAR, and gives what
// it shows of each entry. Whatever it throws loses the whole file.
async (text) => {
  const { HARFormat, Importer } = await import('devtools://devtools/bundled/models/har/har.js')
  const root = new HARFormat.HARRoot(JSON.parse(text))
  const requests = Importer.Importer.requestsFromHARLog(root.log)
  const pairs = (list, name, value) => list.map((x) => [name(x), value(x)])
  const millis = (n) => Math.round(n * 1000) / 1000

  // Its timing has points of time, each from the request's start.
  const timings = (r) => {
    const t = r.timing
    const span = (start, end) => start < 0 ? -1 : millis(end - start)
    return {
      blocked: millis([t.dnsStart, t.connectStart, t.sendStart].find((start) => start >= 0)),
      dns: span(t.dnsStart, t.dnsEnd),
      connect: span(t.connectStart, t.connectEnd),
      ssl: span(t.sslStart, t.sslEnd),
      send: span(t.sendStart, t.sendEnd),
      wait: millis(t.receiveHeadersEnd - t.sendEnd),
      receive: millis((r.endTime - r.issueTime()) * 1000 - t.receiveHeadersEnd)
    }
  }
  const base64 = (text) => {
    let bytes = ''
    for (const b of new TextEncoder().encode(text)) bytes += String.fromCharCode(b)
    return btoa(bytes)
  }
  return Promise.all(requests.map(async (r) => {
    const content = await r.requestContentData()
    return {
      method: r.requestMethod,
      url: r.url(),
      requestHeaders: pairs(r.requestHeaders(), (h) => h.name, (h) => h.value),
      requestCookies: pairs(r.includedRequestCookies(), (c) => c.cookie.name(), (c) => c.cookie.value()),
      posted: await r.requestFormData(),
      status: r.statusCode,
      phrase: r.statusText,
      headers: pairs(r.responseHeaders, (h) => h.name, (h) => h.value),
      cookies: pairs(r.responseCookies, (c) => c.name(), (c) => c.value()),
      type: r.mimeType,
      size: r.resourceSize,
      transferSize: r.transferSize,
      content: content.createdFromBase64 ? content.base64 : base64(content.text),
      timings: timings(r),
      server: r.remoteAddress(),
      resource: r.resourceType().name(),
      messages: r.frames().map((f) => [f.type, f.time, f.opCode, f.text]),
      events: r.eventSourceMessages().map((m) => [m.time, m.eventName, m.eventId, m.data])
    }
  }))
}
