'use strict'
// A client of HTTP/2: node client.js HOST PROXY CA.
const assert = require('node:assert')
const fs = require('node:fs')
const http = require('node:http')
const http2 = require('node:http2')
const tls = require('node:tls')
const [host, proxy, ca] = process.argv.slice(2)
const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_HTTP_1_1_REQUIRED } = http2.constants

const connect = (settings) => new Promise((resolve, reject) => {
  const { hostname, port } = new URL(proxy)
  http.request({ hostname, port, method: 'CONNECT', path: host }).on('connect', (_, socket) => {
    const secure = tls.connect({ socket, host: '127.0.0.1', ca: fs.readFileSync(ca), ALPNProtocols: ['h2'] }, () => {
      const session = http2.connect('https://' + host, { createConnection: () => secure, settings })
      session.on('error', reject)
      session.once('remoteSettings', () => resolve(session))
    })
    secure.on('error', reject)
  }).on('error', reject).end()
})

// ask resolves with what came, and how it ended.
const ask = (session, headers, { body, trailers, cancel } = {}) => new Promise((resolve) => {
  const stream = session.request(headers, { endStream: body === undefined, waitForTrailers: trailers !== undefined })
  const got = { early: [], trailers: {}, pieces: [] }
  stream.on('headers', (h) => got.early.push(h))
  stream.on('response', (h) => { got.headers = h })
  stream.on('trailers', (t) => { got.trailers = t })
  stream.on('data', (piece) => {
    got.pieces.push(piece)
    if (cancel !== undefined) stream.close(cancel)
  })
  stream.on('error', (e) => { got.error = e })
  stream.on('wantTrailers', () => stream.sendTrailers(trailers))
  stream.on('close', () => {
    got.text = Buffer.concat(got.pieces).toString()
    got.code = stream.rstCode
    resolve(got)
  })
  if (body !== undefined) stream.end(body)
})
const until = async (what, ok) => {
  for (const end = Date.now() + 30000; !(await ok()); await new Promise((resolve) => setTimeout(resolve, 10))) {
    if (Date.now() > end) throw new Error('waited 30 s for ' + what)
  }
}

const socket = (session) => new Promise((resolve, reject) => {
  assert.ok(session.remoteSettings.enableConnectProtocol)
  const stream = session.request({
    ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/socket', 'sec-websocket-version': '13', 'sec-websocket-protocol': 'echo'
  }, { endStream: false })
  const send = (opcode, payload) => {
    const mask = Buffer.from([1, 2, 3, 4])
    stream.write(Buffer.concat([Buffer.from([128 | opcode, 128 | payload.length]), mask, payload.map((b, i) => b ^ mask[i % 4])]))
  }
  const got = []
  stream.on('response', (h) => {
    assert.equal(h[':status'], 200)
    send(1, Buffer.from('one'))
  })
  stream.on('data', (frame) => {
    got.push(frame.toString('latin1'))
    if (got.length === 1) send(2, Buffer.from('two'))
    if (got.length === 2) send(8, Buffer.from([3, 232]))
    if (got.length === 3) stream.end()
  })
  stream.on('error', reject)
  stream.on('close', () => resolve(got))
})

const main = async () => {
  const session = await connect({ enablePush: true })
  const many = await Promise.all(Array.from({ length: 150 }, (_, n) => ask(session, { ':method': 'POST', ':path': '/echo?n=' + n }, { body: 'body ' + n })))
  many.forEach((got, n) => assert.equal(JSON.parse(got.text).body, 'body ' + n))

  const echoed = await ask(session, { ':method': 'PUT', ':path': '/echo?fields', cookie: ['a=1', 'b=2', 'c=3'], te: 'trailers', 'x-z': '1', 'x-a': '2' }, {
    body: Buffer.alloc(300000, 'up '), trailers: { 'x-after': 'the body' }
  })
  const said = JSON.parse(echoed.text)
  assert.equal(said.body.length, 300000)
  assert.deepEqual(said.trailers, { 'x-after': 'the body' })
  assert.deepEqual([said.cookie, said.te], ['a=1; b=2; c=3', 'trailers'])
  assert.deepEqual(said.names.filter((n) => n.startsWith('x-') || n === 'cookie'), ['cookie', 'cookie', 'cookie', 'x-z', 'x-a'])
  assert.deepEqual(echoed.headers['set-cookie'], ['one=1; Path=/', 'two=2; Path=/'])
  assert.equal(echoed.headers['x-pushed'], 'false')

  const trailed = await ask(session, { ':path': '/trailers' })
  assert.deepEqual([trailed.text, { ...trailed.trailers }], ['with trailers', { 'x-checksum': 'four', 'x-again': 'yes' }])
  const early = await ask(session, { ':path': '/early' })
  assert.deepEqual(early.early.map((h) => [h[':status'], h.link]), [[103, '</a.css>; rel=preload'], [103, '</b.css>; rel=preload']])
  assert.equal(early.text, 'after the hints')

  const broken = await ask(session, { ':path': '/broken' })
  assert.deepEqual([broken.text, broken.code], ['some of it', NGHTTP2_INTERNAL_ERROR])
  const refused = await ask(session, { ':path': '/refused' })
  assert.deepEqual([refused.headers, refused.code], [undefined, NGHTTP2_HTTP_1_1_REQUIRED])
  await ask(session, { ':path': '/begun?1' }, { cancel: NGHTTP2_CANCEL })
  await ask(session, { ':path': '/begun?2' }, { cancel: NGHTTP2_INTERNAL_ERROR })
  await until('the codes to arrive', async () => {
    const codes = JSON.parse((await ask(session, { ':path': '/resets' })).text)
    return codes['/begun?1'] === NGHTTP2_CANCEL && codes['/begun?2'] === NGHTTP2_INTERNAL_ERROR
  })
  assert.equal((await ask(session, { ':method': 'HEAD', ':path': '/trailers' })).headers[':status'], 200)
  assert.equal((await ask(session, { ':path': '/none' })).headers[':status'], 204)
  assert.equal((await ask(session, { ':path': '/nowhere', 'x-long': 'long'.repeat(10000) })).headers[':status'], 404)
  await new Promise((resolve, reject) => session.ping(Buffer.from('12345678'), (e, _, back) => e ? reject(e) : resolve(assert.equal(back.toString(), '12345678'))))
  assert.deepEqual(await socket(session), ['\x81\x03one', '\x82\x03two', '\x88\x02\x03\xe8'])

  // The server goes away from the proxy, of which the client need not know.
  assert.equal((await ask(session, { ':path': '/away' })).text, 'the last one')
  assert.equal(JSON.parse((await ask(session, { ':path': '/echo?again' })).text).method, 'GET')
  await new Promise((resolve) => session.close(resolve))

  // A window of less than a frame, and one of 0 that opens later.
  const narrow = await connect({ initialWindowSize: 10 })
  assert.equal((await ask(narrow, { ':path': '/trailers?narrow' })).text, 'with trailers')
  await new Promise((resolve) => narrow.settings({ initialWindowSize: 0 }, resolve))
  const shut = ask(narrow, { ':path': '/large' })
  await new Promise((resolve) => narrow.ping((_) => resolve()))
  narrow.settings({ initialWindowSize: 1 << 20 })
  assert.equal((await shut).text.length, 1500000)
  await new Promise((resolve) => narrow.close(resolve))
  console.log('done')
}
main()
