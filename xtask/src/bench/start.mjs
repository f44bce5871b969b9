// How soon a text that a person has typed reaches the server: three chat elements, one server,
// one browser, each time a profile without a cache. The clock is the server's, from the request
// for the page to the request with the text.
//
// node start.mjs <dist> <node_modules of the peers> <runs>; prints `<name> <throttling> <µs>`, medians.

import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';

import { launch } from '../../../tests/support/browser.mjs';

const [dist, peers, runs] = process.argv.slice(2);
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.wasm': 'application/wasm' };
/** How long a text may take, in milliseconds. */
const PATIENCE = 60_000;
/** So long the browser itself works for a window that has just opened, in milliseconds. */
const OPENING = 500;

const CHATS = {
  'mindset-agent': `<script src="/dist/mindset-agent.js"></script><mindset-agent agent-uid="support"></mindset-agent>
    <script>mindset.init({ appUid: 'acme' })</script>`,
  'deep-chat': `<script type="module" src="/peers/deep-chat/dist/deepChat.bundle.js"></script>
    <deep-chat connect='{"url":"/chat"}'></deep-chat>`,
  'ai-search-snippet': `<script type="module" src="/peers/@cloudflare/ai-search-snippet/dist/search-snippet.chat.es.js"></script>
    <chat-page-snippet api-url="/chat"></chat-page-snippet>`,
};

/** Types as soon as there is something to type into, and again while what was typed still stands there. */
function typist() {
  const box = (root) => {
    for (const element of root.querySelectorAll('*')) {
      if (element.matches('textarea, input[type=text], [contenteditable=true]')) return element;
      const inner = element.shadowRoot && box(element.shadowRoot);
      if (inner) return inner;
    }
    return undefined;
  };
  const timer = setInterval(() => {
    const input = document.body && box(document.body);
    if (!input) return;
    const options = { bubbles: true, composed: true, cancelable: true };
    const isEditable = input.isContentEditable;
    input.focus();
    if (isEditable) input.textContent = 'What the person typed';
    else input.value = 'What the person typed';
    input.dispatchEvent(new InputEvent('input', { ...options, data: 'd', inputType: 'insertText' }));
    input.dispatchEvent(new KeyboardEvent('keydown', { ...options, key: 'Enter', code: 'Enter', keyCode: 13 }));
    // Whoever has sent a text looks for no box any more.
    if (!(isEditable ? input.textContent : input.value).trim()) clearInterval(timer);
  }, 5);
}

const module = readdirSync(dist).find((name) => /^mindset-agent-\w+\.wasm$/.test(name));
let asked;
let arrived;
const files = new Map();
const server = createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname.startsWith('/page/')) {
    asked = process.hrtime.bigint();
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    return response.end(`<!doctype html><meta charset="utf-8"><body>${CHATS[pathname.slice(6)]}`);
  }
  if (request.method === 'GET') return file(pathname, response);
  let body = '';
  for await (const piece of request) body += piece;
  if (body.includes('What the person typed')) arrived?.(process.hrtime.bigint());
  response.writeHead(200, { 'content-type': 'application/json' });
  return response.end(JSON.stringify({ text: 'Yes.', authToken: 'token', anonymousKey: 'key', expiresAt: new Date(Date.now() + 3_600_000) }));
});

function file(pathname, response) {
  try {
    if (!files.has(pathname)) {
      const path = pathname.startsWith('/dist/') ? join(dist, pathname.slice(6)) : join(peers, pathname.slice(7));
      files.set(pathname, brotliCompressSync(readFileSync(path)));
    }
    // The runtime says which module its script will ask for.
    const link = pathname.endsWith('/mindset-agent.js') && { link: `<${module}>; rel=preload; as=fetch; crossorigin` };
    response.writeHead(200, { 'content-type': TYPES[extname(pathname)] ?? 'text/plain', 'content-encoding': 'br', ...link });
    response.end(files.get(pathname));
  } catch {
    response.writeHead(404).end();
  }
}

async function measure(browser, name, rate) {
  const profile = await browser.newContext();
  try {
    const page = await profile.newPage();
    await page.addInitScript(typist);
    const tools = await profile.newCDPSession(page);
    await tools.send('Emulation.setCPUThrottlingRate', { rate });
    await new Promise((done) => setTimeout(done, OPENING));
    let timer;
    const seen = new Promise((resolve, reject) => {
      arrived = resolve;
      timer = setTimeout(() => reject(new Error(`${name}: no text reached the server in ${PATIENCE} ms`)), PATIENCE);
    });
    await page.goto(`http://127.0.0.1:${server.address().port}/page/${name}`, { waitUntil: 'commit' });
    const at = await seen.finally(() => clearTimeout(timer));
    return Number(at - asked) / 1_000;
  } finally {
    await profile.close();
  }
}

await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const browser = await launch();
try {
  for (const rate of [1, 4]) {
    const times = new Map(Object.keys(CHATS).map((name) => [name, []]));
    // One warms up the browser. They take turns, so that whatever else the machine does meets all.
    for (let run = -1; run < Number(runs); run += 1) {
      for (const [name, list] of times) {
        const time = await measure(browser, name, rate);
        if (run >= 0) list.push(time);
      }
    }
    for (const [name, list] of times) {
      list.sort((a, b) => a - b);
      console.log(`${name} ${rate} ${Math.round(list[list.length >> 1])}`);
    }
  }
} finally {
  await browser.close();
  server.closeAllConnections();
  server.close();
}
