// Asks for everything, one after the other where the next needs the last, and
// puts what came into window.came; the title is "done" when all has come.
import { answer } from '/module.js'

const socket = () => new Promise((resolve, reject) => {
  const s = new WebSocket(location.origin.replace('http', 'ws') + '/socket')
  s.binaryType = 'arraybuffer'
  const got = []
  s.onopen = () => s.send('text: grüß dich')
  s.onerror = () => reject(new Error('the socket failed'))
  s.onmessage = (m) => {
    got.push(typeof m.data === 'string' ? m.data : m.data.byteLength)
    if (got.length === 1) s.send(new Uint8Array(70000))
    if (got.length === 2) s.send('last')
    if (got.length === 3) s.close(1000, 'enough')
  }
  s.onclose = (e) => resolve({ got, code: e.code })
})

const events = () => new Promise((resolve) => {
  const source = new EventSource('/events/open')
  const got = []
  source.addEventListener('count', (e) => {
    got.push(JSON.parse(e.data).i)
    if (got.length === 3) {
      source.close()
      resolve(got)
    }
  })
})

const upload = () => {
  const form = new FormData()
  form.append('note', 'two files')
  form.append('file', new File(['plain text\n'], 'a "quoted" name.txt', { type: 'text/plain' }))
  form.append('file', new File([new Uint8Array(100000).map((_, i) => i % 251)], 'bytes.bin'))
  return answer('/upload', { method: 'POST', body: form })
}

const json = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ a: [1, null, 'ü'] }) }

window.came = {}
try {
  const came = window.came
  const first = JSON.parse(await answer('/api/first'))
  came.second = await answer(first.next)
  came.moved = await answer('/moved')
  came.json = await answer('/echo?to=json', json)
  came.put = await answer('/echo?to=put', { method: 'PUT', body: 'put' })
  came.deleted = await answer('/echo?to=delete', { method: 'DELETE' })
  came.head = (await fetch('/echo?to=head', { method: 'HEAD' })).headers.get('Content-Length')
  came.missing = (await fetch('/status/404')).status
  came.empty = (await fetch('/status/204')).status
  came.upload = await upload()
  came.coded = await Promise.all(['gzip', 'deflate', 'br', 'zstd'].map((c) => answer('/coded/' + c)))
  came.chunked = await answer('/chunked')
  came.large = (await answer('/large?size=300000')).length
  came.together = await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((i) => answer('/echo?together=' + i)))
  came.twice = await Promise.all(['same', 'same'].map((i) => answer('/echo?twice=' + i, { method: 'POST', body: i })))
  came.stream = await answer('/events')
  came.events = await events()
  came.socket = await socket()
  document.title = 'done'
} catch (e) {
  document.title = 'broken: ' + e
}
