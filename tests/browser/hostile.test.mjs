// Thousands of texts that try to run a script, in every place where words of others are
// shown, on a page without a policy that would stop them. Short here; `cargo xtask soak` sets
// MINDSET_SOAK and takes all of them, with MINDSET_SEED.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { hostile, sample } from '../support/corpora.mjs';
import { vectors } from '../support/h5sc.mjs';
import { ELEMENT, TIMING, html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const LONG = Boolean(process.env.MINDSET_SOAK);
const SEED = Number(process.env.MINDSET_SEED ?? 20261130) % 2 ** 32;
/** Texts of one conversation: so many a page gets of one. */
const BATCH = 100;

const s = suite();
const all = hostile();
const texts = LONG ? all : sample(all, 300, SEED);
const short = (LONG ? all : sample(all, 50, SEED + 1)).filter((text) => text.length < 2_000);

if (LONG) console.log(`summary: ${all.length} texts, ${vectors().length ? `${vectors().length} of H5SC among them` : 'WITHOUT those of H5SC'}`);

const batches = (list) => Array.from({ length: Math.ceil(list.length / BATCH) }, (_, at) => list.slice(at * BATCH, (at + 1) * BATCH));

/** In the page: what must not be there, as far as one can see it. */
function found() {
  const bad = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll('*')) {
      const name = node.localName;
      if (/^(script|iframe|frame|object|embed|applet|base|meta|link|style|img|image|video|audio|source|portal|foreignobject|animate|set|use|template)$/i.test(name)) bad.push(`<${name}>`);
      for (const { name: attribute, value } of node.attributes) {
        if (/^on/i.test(attribute)) bad.push(`${name} ${attribute}`);
        if (/^(src|srcdoc|srcset|action|formaction|data|poster|background|ping|xlink:href)$/i.test(attribute)) bad.push(`${name} ${attribute}=${value}`);
        if (/^href$/i.test(attribute) && !['http:', 'https:', 'mailto:'].includes(new URL(node.href, location.href).protocol)) bad.push(`${name} href=${value}`);
      }
      if (node.shadowRoot) walk(node.shadowRoot);
    }
  };
  walk(document.getElementById('agent').shadowRoot);
  return { bad: [...new Set(bad)], ran: window.ran, title: document.title, errors: window.recorded.errors };
}

/** A page that notes what a payload may call. */
async function victim() {
  const watch = `<script>window.ran = [];
    for (const name of ['alert', 'confirm', 'prompt', 'print', 'open']) window[name] = (...args) => { window.ran.push(name + '(' + args + ')'); };</script>`;
  const page = html({ head: watch, elements: ELEMENT });
  const host = await s.open(s.runtime.page('/', page, { 'content-security-policy': null }));
  await host.saw('agent-idle');
  host.before = host.requests.length;
  return host;
}

async function unharmed(host, place) {
  const { bad, ran, title, errors } = await host.run(found);
  assert.deepEqual({ bad, ran, title, errors }, { bad: [], ran: [], title: 'Host page', errors: [] }, place);
  const foreign = host.requests.slice(host.before).filter((url) => !url.startsWith(`${s.runtime.origin}/`) && !url.startsWith('blob:'));
  const strange = host.requests.slice(host.before).filter((url) => url.startsWith(s.runtime.origin) && !/\/(v1\/|mindset-)/.test(url));
  assert.deepEqual([...foreign, ...strange], [], `${place}: requests`);
  assert.equal(new URL(host.page.url()).pathname, '/', `${place}: the page stayed`);
}

/** The ways in which a text can be part of an answer. */
const FORMS = {
  'as it is': (text) => text,
  'as a link': (text) => `[x](${text})\n\n[x](<${text}>)\n\n<${text}>\n\n![x](${text})`,
  'as a link by reference': (text) => `[x][r]\n\n[r]: ${text.replace(/\s+/g, '')} "${text}"`,
  'in a list, a table and code': (text) => `- ${text}\n\n|a|b|\n|-|-|\n|${text}|${text}|\n\n\`\`\`${text.split('\n')[0]}\n${text}\n\`\`\`\n\n\`${text}\``,
};

for (const [form, of] of Object.entries(FORMS)) {
  test(`hostile answers ${form}`, { timeout: 1_200_000 }, async () => {
    const host = await victim();
    for (const batch of batches(texts)) {
      s.runtime.onRun = (run) => {
        run.start();
        for (const text of batch) {
          run.say(of(text));
          run.endMessage();
        }
        run.finish();
      };
      assert.equal((await host.send('go', { silent: true })).status, 'finished');
      await unharmed(host, form);
      await host.run(() => document.getElementById('agent').newConversation());
    }
  });
}

test('hostile answers, one character at a time', { timeout: 1_200_000 }, async () => {
  const host = await victim();
  for (const batch of batches(short)) {
    s.runtime.hold();
    await host.start('go', { silent: true });
    const run = await s.runtime.nextRun();
    run.start();
    for (const text of batch) {
      for (const character of text) run.say(character);
      run.say('\n\n');
      await unharmed(host, 'while it streams');
    }
    run.finish();
    await until(() => host.busy().then((busy) => !busy), 'the end of the answer');
    await unharmed(host, 'one character at a time');
    await host.run(() => document.getElementById('agent').newConversation());
  }
});

test('hostile words in tool calls, errors, sources and history', { timeout: 1_200_000 }, async () => {
  for (const batch of batches(texts)) {
    const host = await victim();
    s.runtime.onRun = (run) => {
      run.start();
      for (const [at, text] of batch.entries()) {
        const id = `c-${run.input.runId}-${at}`;
        run.event({ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: 'look' });
        run.event({ type: 'TOOL_CALL_ARGS', toolCallId: id, delta: JSON.stringify({ q: text }) });
        run.event({ type: 'TOOL_CALL_END', toolCallId: id });
        run.event({ type: 'CUSTOM', name: 'mindset.tool_start', value: { toolCallId: id, toolName: text.slice(0, 60), source: 'mcp', description: text, readOnly: true } });
        run.event({ type: 'TOOL_CALL_RESULT', messageId: `r-${id}`, toolCallId: id, content: text });
      }
      run.say('Done [1].');
      run.event({ type: 'CUSTOM', name: 'mindset.citations', value: { messageId: run.messageId, items: batch.slice(0, 20).map((text, at) => ({ marker: `[${at + 1}]`, title: text, url: text })) } });
      run.fail(batch[0]);
    };
    await host.send('go', { silent: true });
    await unharmed(host, 'tools, errors, sources');
    const messages = batch.map((content, at) => ({ id: `m${at}`, role: at % 2 ? 'assistant' : 'user', content, createdAt: new Date().toISOString() }));
    s.runtime.conversations.set('hostile', { messages, title: batch[0] });
    await host.run(() => document.getElementById('agent').switchConversation('hostile'));
    await unharmed(host, 'history');
    await host.close();
  }
});

const button = (text) => ({ action: text, label: text, payload: text });
const DOCUMENTS = {
  card: (text) => ({ title: text, subtitle: text, text, href: text, image: { url: text, alt: text }, fields: [{ label: text, value: text, href: text }], actions: [button(text)] }),
  list: (text) => ({ title: text, items: [{ title: text, text, href: text, image: { url: text, alt: text }, action: button(text) }] }),
  table: (text) => ({ title: text, columns: [{ key: text, label: text }], rows: [{ [text]: text }] }),
  form: (text) => ({
    title: text,
    text,
    fields: [
      { name: 'a', label: text, type: 'url', hint: text, placeholder: text, value: text },
      { name: 'b', label: text, type: 'select', options: [{ value: text, label: text }] },
      { name: 'c', label: text, type: 'date', min: text, max: text },
    ],
    submit: button(text),
  }),
  choices: (text) => ({ question: text, text, mode: 'single', options: [{ id: text, label: text, description: text }], submit: button(text) }),
  chart: (text) => ({ type: 'bar', title: text, unit: text, labels: [text], series: [{ name: text, values: [1] }] }),
  progress: (text) => ({ title: text, text, steps: [{ label: text, state: 'active' }] }),
};

for (const [kind, doc] of Object.entries(DOCUMENTS)) {
  test(`hostile fields of a ${kind}`, { timeout: 1_200_000 }, async () => {
    const host = await victim();
    for (const batch of batches(texts)) {
      s.runtime.onRun = (run) => {
        run.start();
        for (const [at, text] of batch.entries()) {
          run.event({ type: 'CUSTOM', name: 'mindset.widget', value: { widgetId: `w-${run.input.runId}-${at}`, kind, doc: doc(text), summary: text } });
        }
        run.say('There.').finish();
      };
      assert.equal((await host.send('go', { silent: true })).status, 'finished');
      await unharmed(host, kind);
      await host.run(() => document.getElementById('agent').newConversation());
    }
  });
}

test('the element works on after all of this', async () => {
  const host = await s.ready({ init: { timing: TIMING } });
  assert.equal((await host.send('hello')).text, 'You said: hello.');
});
