// The panel alone, without a session behind it: its modules as they stand in `src`, and a page
// that plays the session. For what the session is not able to ask for yet, or not at will.

import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../../src/', import.meta.url));
const MODULES = ['convert.js', 'page.js', 'effects/browser.js', ...readdirSync(`${SOURCE}dom`).filter((name) => name.endsWith('.js')).map((name) => `dom/${name}`)];

/**
 * Opens a page with an idle panel: `window.panel`, what it asked for in `window.told` as
 * `[name, text]`, and in `window.refuses` the names that are refused.
 */
export async function barePanel(s) {
  for (const path of MODULES) s.runtime.page(`/src/${path}`, readFileSync(SOURCE + path, 'utf8'), { 'content-type': 'text/javascript' });
  s.runtime.page('/bare.js', `
    import { Panel } from '/src/dom/panel.js';
    // How the panel draws is between it and the module; the rest is what a person asked for.
    const OWN = ['plain', 'draw'];
    window.told = [];
    window.refuses = [];
    const root = document.getElementById('agent').attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(await (await fetch('/theme.css')).text());
    root.adoptedStyleSheets = [sheet];
    window.panel = new Panel(root, (...words) => { if (!OWN.includes(words[0])) told.push(words); return !refuses.includes(words[0]); });
    document.getElementById('agent').style.height = '480px';
    panel.setTexts();
    panel.setActivity('idle');
  `, { 'content-type': 'text/javascript' });
  s.runtime.page('/theme.css', readFileSync(`${SOURCE}dom/theme.css`, 'utf8'));
  const host = await s.open(s.runtime.page('/bare', `<!doctype html><html lang="en"><title>Bare</title>
    <div id="agent"></div><script type="module" src="/bare.js"></script></html>`));
  await host.page.waitForFunction(() => window.panel);
  return host;
}
