// Requests that the page waits for, so that whatever looks at it at its load
// event sees all of them.
const ask = (method, url, body) => {
  const x = new XMLHttpRequest()
  x.open(method, url, false)
  x.send(body)
  return x.responseText
}
const form = new FormData()
form.append('file', new File([new Uint8Array(50000).fill(200)], 'bytes.bin'))
const came = [
  ask('GET', '/api/second?a=1&b=%20&b=ü'),
  ask('POST', '/echo', JSON.stringify({ name: 'ü' })),
  ask('PUT', '/echo?put', 'put'),
  ask('GET', '/moved'),
  ask('GET', '/coded/br'),
  ask('GET', '/status/404'),
  ask('GET', '/large?size=2500000').length,
  ask('POST', '/upload', form)
]
addEventListener('load', () => { document.getElementById('came').textContent = came.join(' ') })
