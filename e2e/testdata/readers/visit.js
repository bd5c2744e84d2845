// Playwright visits the site and then the shop, by the settings (JSON) on its
// command line: recording a HAR, or taking the answers from one. It prints what
// came of each step.
'use strict'
const { chromium } = require('playwright-core')

async function main (settings) {
  const { executablePath, args, proxy, home, shop, site, upload, record, replay } = settings
  const browser = await chromium.launch({ executablePath, args, proxy, env: { ...process.env, HOME: home }, timeout: 120000 })
  const context = await browser.newContext({ recordHar: record && { path: record, content: 'embed' }, offline: Boolean(replay) })
  if (replay) await context.routeFromHAR(replay, { notFound: 'abort' })
  context.setDefaultTimeout(120000)
  const page = await context.newPage()
  const said = {}
  const step = async (name, title, f) => {
    await f()
    await page.waitForFunction((title) => document.title === title && document.readyState === 'complete', title)
    said[name] = await page.locator('body').innerText()
  }
  const press = (id) => step(id, 'Account', async () => {
    await page.click('#' + id)
    await page.waitForFunction((last) => document.getElementById('said').textContent.endsWith(last), id + ' done\n')
  })

  if (site) await step('site', 'done', () => page.goto(site + '/'))
  await step('login', 'Sign in', () => page.goto(shop + '/shop/login'))
  await step('account', 'Account', async () => {
    await page.fill('[name=username]', 'emma')
    await page.fill('[name=password]', 'pass word+1')
    await page.click('button')
  })
  await press('save')
  await press('prices')
  await press('lost')
  await press('gone')
  await step('upload', 'Uploaded', async () => {
    await page.setInputFiles('[name=file]', upload)
    await page.click('#send')
  })
  await step('back', 'Account', () => page.goto(shop + '/shop/account'))
  await step('item', 'Shoes', () => page.click('a'))
  await step('todos', 'Todos', () => page.click('a'))
  for (const c of await context.cookies()) said['cookie ' + c.name] = [c.value, c.path, c.httpOnly, c.sameSite, c.expires > 0].join(' ')
  await context.close()
  await browser.close()
  console.log(JSON.stringify(said))
}
main(JSON.parse(process.argv[2])).catch((err) => { console.error(err); process.exit(1) })
