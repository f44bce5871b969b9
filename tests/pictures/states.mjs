// Ten states of the panel, each reached as a person and a runtime reach it. Each gets the page,
// the scripted runtime and the words.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from '../support/paths.mjs';

const DOCS = readFileSync(join(ROOT, 'docs/widgets.md'), 'utf8');
const message = (id, role, content, more) => ({ id, role, content, createdAt: '2026-11-02T10:00:00.000Z', ...more });

/** Page tools that end, run on and ask. */
function tools(host, words) {
  return host.run(([running, done, other, question]) => {
    const tool = (name, more) => ({ name, description: name, parameters: { type: 'object' }, handler: () => 'ok', ...more });
    document.getElementById('agent').setPageTools([
      tool('order', { runningDescription: running, completedDescription: done }),
      tool('depot', { runningDescription: other, handler: () => { throw new Error('closed'); } }),
      tool('address', { confirm: question, completedDescription: done }),
    ]);
  }, words.tools);
}

/** The agent answers with a widget. */
async function shows({ host, runtime }, question, widget, words) {
  runtime.onRun = (run) => {
    run.start().event({ type: 'CUSTOM', name: 'mindset.widget', value: { widgetId: 'w', ...widget } });
    if (words) run.event({ type: 'CUSTOM', name: 'mindset.suggestions', value: { items: words.next } });
    run.finish();
  };
  await host.send(question);
  await host.panel.host.locator('[part~="widget"]').waitFor();
}

/** Citations of the sourced answer. */
const cite = (words) => words.sources.map((title, at) => ({ marker: `[${at + 1}]`, title, ...(at < 2 && { url: `https://hr.example/${at}` }) }));

export const STATES = {
  async empty({ host, words }) {
    await host.panel.host.locator('[part~="suggestion"]').nth(words.starters.length - 1).waitFor();
  },
  async streaming({ host, runtime, words }) {
    runtime.hold();
    await host.start(words.question);
    (await runtime.nextRun()).start().say(words.half);
  },
  async queue({ host, runtime, words }) {
    runtime.hold();
    await host.panel.say(words.question);
    (await runtime.nextRun()).start().say(words.half);
    for (const text of words.next) await host.panel.say(text);
    const rows = host.panel.host.locator('[part~="queue__item"][data-state=queued]');
    await rows.nth(words.next.length - 1).waitFor();
  },
  async settings({ host, runtime }) {
    runtime.permissions.declared = { run: true, read: true };
    runtime.permissions.read = false;
    await host.panel.host.locator('[data-do=conversations]').click();
    await host.panel.host.locator('[part~="settings__button"]').click();
    await host.panel.host.locator('[part~="settings__list"] input').first().waitFor();
  },
  async answer({ host, runtime, words }) {
    runtime.onRun = (run) => run.start().say(words.answer).finish();
    await host.send(words.question);
  },
  async tools({ host, runtime, words }) {
    await tools(host, words);
    runtime.onRun = (run) => (run.results.length
      ? run.start().calls(['address', words.address])
      : run.start().event({ type: 'REASONING_MESSAGE_CHUNK', messageId: 'r', delta: words.thinks }).say(words.first).endMessage().calls(['order'], ['depot']));
    await host.start(words.ask);
    await host.panel.question.waitFor();
  },
  async error({ host, runtime, words }) {
    runtime.onRun = (run) => { run.start().say(words.failed); run.end(); };
    await host.send(words.question);
    await host.panel.host.locator('[part~="notice__button"]').waitFor();
  },
  async effects({ host, runtime, words }) {
    runtime.onRun = (run) => run.start().say(words.first).fail('The model is not there.', {
      reason: 'model_error',
      retryable: true,
      effects: [{ toolCallId: 'c', toolName: 'address', source: 'mcp', outcome: 'done' }, { toolCallId: 'd', toolName: 'depot', source: 'mcp', outcome: 'unknown' }],
    });
    await host.send(words.ask);
    await host.panel.host.locator('[part~="notice__button"]').waitFor();
  },
  async drawer({ host, words, runtime }) {
    runtime.onRun = (run) => run.start().say(words.more[1]).finish();
    await host.send(words.more[0]);
    await host.panel.host.locator('[part~="header__button--conversations"]').click();
    await host.panel.host.locator('[part~="drawer__title"]').first().waitFor();
  },
  /** Closed, with something new. */
  async bubble({ host, runtime, words }) {
    runtime.onRun = (run) => run.start().say(words.more[1]).finish();
    await host.send(words.more[0]);
    await host.panel.host.locator('[part~="badge"]').waitFor();
  },
  async widgets({ host, runtime, words }) {
    const [title, labels, names] = words.chart;
    const series = names.map((name, at) => ({ name, values: [[42, 38, 51], [40, 41, 47]][at] }));
    await shows({ host, runtime }, words.chartAsk, { kind: 'chart', summary: title, doc: { type: 'bar', title, labels, series } }, words);
    await host.panel.host.locator('[part~="suggestion"]').first().waitFor();
  },
  async history({ host, words }) {
    await host.panel.shows(words.failed);
  },
};

/** The examples of docs/widgets.md, one state each: `widget-card`, … */
export const WIDGETS = Object.fromEntries([...DOCS.matchAll(/^```json\n(\{\n {2}"kind"[^]*?)\n```$/gm)]
  .map(([, text]) => JSON.parse(text))
  .map((widget) => [`widget-${widget.kind}`, (at) => shows(at, at.words.question, widget)]));

/** Conversations that the runtime keeps before the page comes. */
export function keep(runtime, state, words) {
  if (state === 'empty') {
    runtime.onAgent = () => ({ starters: words.starters });
  } else if (state === 'drawer') {
    words.titles.forEach((title, at) => {
      runtime.conversations.set(`c-${at}`, { title, updatedAt: `2026-11-0${9 - at}T10:00:00Z`, messages: [message('m', 'user', words.asks)] });
    });
  } else if (state === 'history') {
    runtime.conversations.set('c-0', {
      title: words.titles[0],
      messages: [
        message('m-1', 'user', words.more[0]),
        message('m-2', 'assistant', words.more[1]),
        message('m-3', 'user', words.asks),
        message('m-4', 'assistant', words.sourced, { citations: cite(words) }),
        message('m-5', 'user', words.question),
        message('m-6', 'assistant', words.failed, { status: 'stopped' }),
      ],
    });
  }
}
