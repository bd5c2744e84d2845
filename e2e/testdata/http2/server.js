'use strict'
// A server of HTTP/2: node server.js CERTIFICATE KEY. It prints its port, and on
// standard input's end goes away.
const fs = require('node:fs')
const http2 = require('node:http2')
const [cert, key] = process.argv.slice(2).map((file) => fs.readFileSync(file))
const server = http2.createSecureServer({ cert, key, settings: { enableConnectProtocol: true, maxConcurrentStreams: 100 } })
const resets = {} // the codes of requests that were given up, by their paths
const collect = async (stream) => {
  const pieces = []
  for await (const piece of stream) pieces.push(piece)
  return Buffer.concat(pieces)
}

const routes = {
  '/echo': async (stream, headers, fields) => {
    let trailers = {}
    stream.on('trailers', (t) => { trailers = t })
    const body = await collect(stream)
    stream.respond({
      ':status': 200,
      'content-type': 'application/json',
      'set-cookie': ['one=1; Path=/', 'two=2; Path=/'],
      'x-pushed': String(stream.pushAllowed)
    })
    stream.end(JSON.stringify({
      method: headers[':method'], body: body.toString('latin1'), trailers, cookie: headers.cookie, te: headers.te,
      names: fields.filter((_, i) => i % 2 === 0)
    }))
  },
  '/trailers': (stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': 'four', 'x-again': 'yes' }))
    stream.end('with trailers')
  },
  '/early': (stream) => {
    stream.additionalHeaders({ ':status': 103, link: '</a.css>; rel=preload' })
    stream.additionalHeaders({ ':status': 103, link: '</b.css>; rel=preload' })
    stream.respond({ ':status': 200 })
    stream.end('after the hints')
  },
  '/broken': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain' })
    stream.write('some of it', () => stream.destroy(new Error('broken')))
  },
  '/refused': (stream) => stream.close(http2.constants.NGHTTP2_HTTP_1_1_REQUIRED),
  '/begun': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain' })
    stream.write('begun')
  },
  '/resets': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/json' })
    stream.end(JSON.stringify(resets))
  },
  '/large': (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain' })
    stream.end(Buffer.alloc(1500000, 'large '))
  },
  '/none': (stream) => stream.respond({ ':status': 204 }, { endStream: true }),
  '/away': (stream) => {
    stream.respond({ ':status': 200 })
    stream.end('the last one')
    stream.session.close()
  },
  '/socket': (stream, headers) => {
    if (headers[':protocol'] !== 'websocket') return stream.respond({ ':status': 400 }, { endStream: true })
    stream.respond({ ':status': 200, 'sec-websocket-protocol': 'echo' })
    let had = Buffer.alloc(0)
    stream.on('data', (piece) => {
      had = Buffer.concat([had, piece])
      while (had.length >= 6 && had.length >= 6 + (had[1] & 127)) { // short and masked, as the client's are
        const payload = had.subarray(6, 6 + (had[1] & 127)).map((b, i) => b ^ had[2 + i % 4])
        stream.write(Buffer.concat([Buffer.from([had[0], payload.length]), payload]))
        if ((had[0] & 15) === 8) stream.end()
        had = had.subarray(6 + payload.length)
      }
    })
  }
}

server.on('stream', (stream, headers, _, fields) => {
  stream.on('error', () => {})
  stream.on('close', () => { if (stream.rstCode) resets[headers[':path']] = stream.rstCode })
  const path = headers[':path'].replace(/\?.*/, '')
  const route = routes[path]
  if (!route) return stream.respond({ ':status': 404 }, { endStream: true })
  Promise.resolve(route(stream, headers, fields)).catch(() => {})
})
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
process.stdin.resume().on('end', () => process.exit())
