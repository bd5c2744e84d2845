'use strict'
const assert = require('node:assert')
const { once } = require('node:events')
const { HttpsProxyAgent } = require('https-proxy-agent')
const WebSocket = require('ws')
const [tls, plain, proxy] = process.argv.slice(2)

const main = async () => {
  for (const url of ['wss://' + tls + '/socket', 'ws://' + plain + '/socket']) {
    const ws = new WebSocket(url, { agent: new HttpsProxyAgent(proxy) })
    await once(ws, 'open')
    for (const message of ['one', '0123456789'.repeat(10000), 'three ü']) {
      ws.send(message)
      const [got] = await once(ws, 'message')
      assert.equal(got.toString(), message)
    }
    ws.close(1000)
    assert.equal((await once(ws, 'close'))[0], 1000)
  }
  console.log('done')
}
main()
