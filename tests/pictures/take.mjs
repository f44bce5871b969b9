// `cargo xtask screenshots`: ten states in light, dark, on a phone and in Arabic, into
// target/screenshots, one sheet with all of them, and the pictures of docs/theming.md.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { launch } from '../support/browser.mjs';
import { Host, html } from '../support/host.mjs';
import { ROOT, SCREENSHOTS } from '../support/paths.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';
import { STATES, keep } from './states.mjs';
import { WORDS } from './words.mjs';

const IMAGES = join(ROOT, 'docs/images');
/** No picture of the documentation is larger, in bytes. */
const LARGEST = 60_000;

const SIZE = { width: 460, height: 680 };
const SCREENS = {
  light: { context: { colorScheme: 'light', viewport: SIZE } },
  dark: { context: { colorScheme: 'dark', viewport: SIZE } },
  phone: { context: { colorScheme: 'light', viewport: { width: 375, height: 680 }, hasTouch: true, isMobile: true }, attributes: 'layout="bubble" open' },
  arabic: { context: { colorScheme: 'light', viewport: SIZE, locale: 'ar' }, language: 'ar' },
};

/** Pictures of the documentation: state, screen, and what the page adds. */
const DOCS = {
  light: ['answer', 'light'],
  dark: ['tools', 'dark'],
  accent: ['history', 'light', '--mindset-accent: #0a7d5a; --mindset-radius: 8px; --mindset-spacing: 3px'],
  bubble: ['bubble', 'light'],
  drawer: ['drawer', 'light'],
  widgets: ['widgets', 'dark'],
  phone: ['streaming', 'phone'],
  arabic: ['history', 'arabic'],
};

const style = (properties) => `<style>
  html { height: 100%; background: light-dark(#eef0f5, #08090c); color-scheme: light dark; }
  body { height: 100%; margin: 0; font: 15px system-ui, sans-serif; }
  main { box-sizing: border-box; height: 100%; padding: 14px; }
  main > h1 { display: none; }
  .paper { height: 100%; padding: 24px; border-radius: 14px; box-sizing: border-box; background: light-dark(#fff, #14161c); }
  .paper i { display: block; height: 12px; margin: 14px 0; border-radius: 6px; background: light-dark(#e6e8ee, #262a33); }
  .paper i:nth-of-type(3n) { width: 60%; }
  mindset-agent { --mindset-height: 100%; ${properties} }
</style>`;

/** A page in a state, when all of it stands still. */
async function open(browser, runtime, state, screen, properties = '') {
  const { context, attributes = '', language = 'en' } = SCREENS[screen];
  const words = WORDS[language];
  runtime.reset();
  keep(runtime, state, words);
  const isBubble = state === 'bubble';
  const layout = isBubble ? 'layout="bubble"' : attributes;
  const first = runtime.conversations.size ? 'conversation-id="c-0"' : '';
  const locale = language === 'en' ? '' : `locale="${language}" dir="rtl"`;
  const lines = isBubble ? `<div class="paper"><b>${words.page[0]}</b>${'<i></i>'.repeat(9)}</div>` : '';
  const path = `/${state}-${screen}${properties && '-own'}`;
  const page = html({
    head: `<meta name="viewport" content="width=device-width">${style(properties)}`,
    elements: `${lines}<mindset-agent id="agent" agent-uid="support" heading="${words.heading}" ${layout} ${first} ${locale}></mindset-agent>`,
  }).replace('mindset-agent { height: 480px }', '').replace('<html lang="en"', `<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}"`);
  const host = await Host.open(browser, runtime.page(path, page), { context });
  await host.saw('agent-idle');
  await STATES[state]({ host, runtime, words });
  await host.run(() => document.fonts.ready);
  await host.page.mouse.move(0, 0);
  await host.run(() => Promise.all(document.getElementById('agent').shadowRoot.getAnimations()
    .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
    .map((animation) => animation.finished.catch(() => {}))));
  return host;
}

/** All pictures on one page, drawn by the browser. */
async function sheet(browser, pictures) {
  const profile = await browser.newContext({ viewport: { width: 1640, height: 900 } });
  const page = await profile.newPage();
  const cells = pictures.map(([name, png]) => `<figure><img src="data:image/png;base64,${png.toString('base64')}"><figcaption>${name}</figcaption></figure>`);
  await page.setContent(`<style>body { margin: 12px; display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px; font: 13px system-ui }
    figure { margin: 0 } img { width: 100% }</style>${cells.join('')}`);
  await page.screenshot({ path: join(SCREENSHOTS, 'sheet.png'), fullPage: true });
  await profile.close();
}

/** A picture as WebP, made by the browser's own encoder. */
async function webp(host, png) {
  const bytes = await host.profile.newPage().then(async (page) => {
    const url = await page.evaluate(async (text) => {
      const image = new Image();
      image.src = `data:image/png;base64,${text}`;
      await image.decode();
      const canvas = document.createElement('canvas');
      Object.assign(canvas, { width: image.width, height: image.height });
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.9);
    }, png.toString('base64'));
    return Buffer.from(url.split(',')[1], 'base64');
  });
  return bytes;
}

mkdirSync(SCREENSHOTS, { recursive: true });
mkdirSync(IMAGES, { recursive: true });
const only = process.argv[2];
const runtime = await ScriptedRuntime.start();
const browser = await launch();
try {
  const pictures = [];
  for (const state of Object.keys(STATES)) {
    for (const screen of Object.keys(SCREENS)) {
      const name = `${state}-${screen}`;
      if (only && !name.includes(only)) continue;
      const host = await open(browser, runtime, state, screen);
      const path = join(SCREENSHOTS, `${name}.png`);
      await host.page.screenshot({ path });
      pictures.push([name, readFileSync(path)]);
      const faults = [...(await host.errors()), ...(await host.violations())];
      if (faults.length) console.log(`${name}: ${JSON.stringify(faults)}`);
      await host.close();
    }
  }
  await sheet(browser, pictures);
  for (const [name, [state, screen, properties]] of only ? [] : Object.entries(DOCS)) {
    const host = await open(browser, runtime, state, screen, properties);
    const bytes = await webp(host, await host.page.screenshot());
    if (bytes.length > LARGEST) throw new Error(`docs/images/${name}.webp has ${bytes.length} bytes, more than ${LARGEST}: draw less`);
    writeFileSync(join(IMAGES, `${name}.webp`), bytes);
    await host.close();
  }
  console.log(`${pictures.length} pictures in ${SCREENSHOTS}, all of them in sheet.png`);
} finally {
  await browser.close();
  await runtime.stop();
}
