export const answer = async (url, init) => {
  const got = await fetch(url, init)
  return got.text()
}
