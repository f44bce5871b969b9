// `cargo xtask screenshots`: ten states in light, dark, on a phone and in Arabic, into
// target/screenshots, one sheet with all of them, and the pictures of the documentation.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { launch } from '../support/browser.mjs';
import { ROOT, SCREENSHOTS } from '../support/paths.mjs';
import { ScriptedRuntime } from '../support/scripted-runtime.mjs';
import { SCREENS, open } from './page.mjs';
import { STATES, WIDGETS } from './states.mjs';

const IMAGES = join(ROOT, 'docs/images');
/** No picture of the documentation is larger, in bytes. */
const LARGEST = 60_000;

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
  ...Object.fromEntries(Object.keys(WIDGETS).flatMap((name) => [[name, [name, 'light']], [`${name}-dark`, [name, 'dark']]])),
};

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
    const shown = WIDGETS[state] ? host.panel.host.locator('[part~="widget"]') : host.page;
    const bytes = await webp(host, await shown.screenshot());
    if (bytes.length > LARGEST) throw new Error(`docs/images/${name}.webp has ${bytes.length} bytes, more than ${LARGEST}: draw less`);
    writeFileSync(join(IMAGES, `${name}.webp`), bytes);
    await host.close();
  }
  console.log(`${pictures.length} pictures in ${SCREENSHOTS}, all of them in sheet.png`);
} finally {
  await browser.close();
  await runtime.stop();
}
