// A long Markdown answer in small pieces, drawn in Chromium: the element, a streaming renderer
// and another chat element, each in a page of its own with the same text and a frame after the
// same pieces. Times are processor time of the page's main thread, with layout and painting.
//
// node stream.mjs <node_modules of the peers>; prints lines `<name> <µs> <longest task, µs>
// <characters>`, then `memory <bytes> <nodes> <listeners>`: what 200 cycles of mounting, streaming
// and removing leave behind.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { launch } from '../../../tests/support/browser.mjs';
import { html } from '../../../tests/support/host.mjs';
import { ScriptedRuntime } from '../../../tests/support/scripted-runtime.mjs';

const peers = process.argv[2];
const PIECE = 4;
/** Pieces that come between two frames. */
const FRAME = 128;
/** After so long a peer is stopped, in milliseconds. */
const PATIENCE = 60_000;
const CYCLES = 200;

const SECTION = `## Section with *emphasis*

Some **bold words**, a [link](https://example.com/path?query=1), \`code\` and ~~struck~~ text in a paragraph
that goes on over two lines of the source, as answers do.

1. First of the list
2. Second, with **weight**
   - nested
   - and nested again

\`\`\`js
export function add(a, b) {
  return a + b; // no more than that
}
\`\`\`

| Name | Value |
|------|------:|
| one  | 1     |
| two  | 2     |

> A quote, and its end.

`;
const TEXT = SECTION.repeat(Math.ceil(102_400 / SECTION.length)).slice(0, 102_400);
const CATEGORIES = ['disabled-by-default-devtools.timeline', '__metadata'];

/** What a page does with the pieces: `start()` gives `{ write, end }`. */
const PAGES = {
  'streaming-markdown': `<main id="out"></main><script type="module">
    import * as smd from '/smd.js';
    window.start = () => {
      const parser = smd.parser(smd.default_renderer(document.getElementById('out')));
      return { write: (piece) => smd.parser_write(parser, piece), end: () => smd.parser_end(parser) };
    };</script>`,
  'deep-chat': `<deep-chat id="chat" style="height:600px;width:700px"></deep-chat><script type="module">
    import '/deep-chat.js';
    const chat = document.getElementById('chat');
    let signals;
    chat.connect = { stream: true, handler: (_, given) => { signals = given; given.onOpen(); } };
    window.start = async () => {
      await new Promise((done) => setTimeout(done, 1000));
      chat.submitUserMessage({ text: 'go' });
      while (!signals) await new Promise((done) => setTimeout(done, 20));
      return { write: (text) => signals.onResponse({ text }), end: () => signals.onClose() };
    };</script>`,
};

/** In the element's page, a run's stream is one that the page writes. */
const OWN = `<script>
  const whole = window.fetch;
  const sse = (event) => 'data: ' + JSON.stringify(event) + '\\n\\n';
  const bytes = (event) => new TextEncoder().encode(sse(event));
  window.fetch = async (url, options) => {
    if (!String(url).endsWith('/runs')) return whole(url, options);
    const { threadId, runId } = JSON.parse(options.body);
    const ids = { threadId, runId };
    const body = new ReadableStream({ start: (controller) => {
      options.signal.addEventListener('abort', () => controller.error(options.signal.reason));
      controller.enqueue(bytes({ type: 'RUN_STARTED', ...ids }));
      controller.enqueue(bytes({ type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' }));
      window.stream = {
        chunk: (at) => controller.enqueue(window.chunks[at]),
        write: (delta) => controller.enqueue(bytes({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })),
        end: () => {
          controller.enqueue(bytes({ type: 'TEXT_MESSAGE_END', messageId: 'm' }));
          controller.enqueue(bytes({ type: 'RUN_FINISHED', ...ids }));
          controller.close();
        },
      };
    } });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
  // What arrives between two frames is one chunk, as a network hands it over; made beforehand.
  window.prepare = (text, piece, frame) => {
    window.chunks = [];
    for (let at = 0; at < text.length; at += piece * frame) {
      const pieces = text.slice(at, at + piece * frame).match(new RegExp('[^]{1,' + piece + '}', 'g'));
      window.chunks.push(new TextEncoder().encode(pieces.map((delta) => sse({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta })).join('')));
    }
  };
  window.start = async () => {
    window.stream = undefined;
    window.turn = document.getElementById('agent').sendMessage('go', { silent: true });
    while (!window.stream) await new Promise((done) => setTimeout(done, 5));
    return window.stream;
  };</script>`;

/** Writes the text; gives how much was written in time. */
async function feed({ text, piece, frame, patience }) {
  const { write, chunk, end } = await window.start();
  const until = performance.now() + patience;
  let at = 0;
  while (at < text.length && performance.now() < until) {
    if (chunk) {
      chunk(at / (piece * frame));
      at += piece * frame;
    } else {
      for (let count = 0; count < frame && at < text.length; count += 1, at += piece) write(text.slice(at, at + piece));
    }
    // Once a frame, and not in the frame's own task: so it comes from a network.
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  end();
  await window.turn;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 300)));
  return Math.min(at, text.length);
}

/** Busy time and longest task of the main thread, in microseconds. */
function busy(trace) {
  const { traceEvents } = JSON.parse(trace);
  const main = new Set(traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain').map(({ pid, tid }) => `${pid}/${tid}`));
  const times = traceEvents.filter(({ name, pid, tid }) => name === 'RunTask' && main.has(`${pid}/${tid}`)).map(({ tdur, dur }) => tdur ?? dur);
  return [times.reduce((sum, time) => sum + time, 0), times.reduce((most, time) => Math.max(most, time), 0)];
}

async function measure(name, page) {
  await page.waitForFunction(() => window.start);
  await page.evaluate(([text, piece, frame]) => window.prepare?.(text, piece, frame), [TEXT, PIECE, FRAME]);
  await browser.startTracing(page, { categories: CATEGORIES });
  const characters = await page.evaluate(feed, { text: TEXT, piece: PIECE, frame: FRAME, patience: PATIENCE });
  const [time, most] = busy(await browser.stopTracing());
  console.log(`${name} ${time} ${most} ${characters}`);
}

async function memory(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const now = async () => {
    for (let round = 0; round < 3; round += 1) await session.send('HeapProfiler.collectGarbage');
    const { metrics } = await session.send('Performance.getMetrics');
    const of = (name) => metrics.find((metric) => metric.name === name).value;
    return [of('JSHeapUsedSize'), of('Nodes'), of('JSEventListeners')];
  };
  const cycle = async (count) => {
    for (let round = 0; round < count; round += 1) await page.evaluate(async (text) => {
      document.getElementById('agent')?.remove();
      await new Promise((done) => setTimeout(done, 10));
      const agent = document.createElement('mindset-agent');
      agent.id = 'agent';
      agent.agentUid = 'support';
      document.querySelector('main').append(agent);
      const { write } = await window.start();
      write(text);
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      agent.remove();
      await new Promise((done) => setTimeout(done, 10));
    }, SECTION);
  };
  await cycle(20);
  const before = await now();
  await cycle(CYCLES);
  const after = await now();
  console.log(`memory ${after.map((value, at) => Math.max(0, Math.round(value - before[at]))).join(' ')}`);
}

const runtime = await ScriptedRuntime.start();
const browser = await launch();
const open = async (path, body) => {
  const page = await (await browser.newContext({ viewport: { width: 1000, height: 720 } })).newPage();
  await page.goto(runtime.page(path, body, { 'content-security-policy': null }));
  return page;
};
const own = await open('/own', html({ head: OWN, init: { timing: undefined } }));
// The parts that an answer needs are there before the first is measured, as the peers' are.
await own.evaluate(async () => {
  await customElements.whenDefined('mindset-agent');
  while (document.getElementById('agent').isAgentBusy() !== false) await new Promise((done) => setTimeout(done, 50));
  await new Promise((done) => setTimeout(done, 1500));
  const { write, end } = await window.start();
  write('`a`');
  end();
  await window.turn;
  window.turn = undefined;
});
await measure('mindset-agent', own);
runtime.page('/smd.js', readFileSync(join(peers, 'streaming-markdown/smd.js'), 'utf8'));
runtime.page('/deep-chat.js', readFileSync(join(peers, 'deep-chat/dist/deepChat.bundle.js'), 'utf8'));
for (const [name, body] of Object.entries(PAGES)) {
  const peer = await open('/peer', `<!doctype html><meta charset="utf-8"><title>${name}</title>${body}`);
  await measure(name, peer);
  await peer.context().close();
}
await memory(own);
await browser.close();
await runtime.stop();
