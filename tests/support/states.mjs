// The states in which a person can meet the panel, as a data table: each is looked at by
// `tests/browser/accessibility.test.mjs` on every screen. To add a state, add a line.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { ROOT } from './paths.mjs';
import { until } from './wait.mjs';

const ANSWER = 'Yes: every order over 40 € is sent free of charge.\n\nShall I look up an order for you?';

/** Sources of an answer. */
export const SOURCES = [
  { marker: '[1]', title: 'Leave policy', url: 'https://hr.example/leave' },
  { marker: '[2]', title: 'A long title of a document about carrying leave over into the next year, with exceptions', url: 'https://hr.example/carry' },
  { marker: '[3]', title: 'Handbook, printed' },
];

const MARKDOWN = `# Delivery

To **Norway** it takes *three* to ~~six~~ five days, see [the terms](https://shop.example/terms) or <mail@shop.example>.

> Customs are paid.

| Weight | Price |
|---|---:|
| up to 1 kg | 89 kr |
| up to 2 kg | 119 kr |

\`\`\`js
const rate = await quote({ to: 'NO', kg: 2 }); // with tax
show(\`\${rate.price} kr\`);
\`\`\`

- [x] customs
- [ ] holidays
  1. one
  2. two

![A van](https://pictures.example/van.png)

The rate is $$a = \\frac{b}{2}$$ of it.

---

The end.`;

/** One widget of each kind, as published. */
const WIDGETS = JSON.parse(readFileSync(join(ROOT, 'schema/widgets.json'), 'utf8')).examples;

const ARABIC = 'نعم، كل طلب يزيد على 40 € يُرسل مجانًا.\n\nهل أبحث لك عن طلب؟ رقمه مثل ORD-4821.';

/** Tools that end, fail, run on and ask. */
function pageTools(host) {
  return host.run(() => {
    const agent = document.getElementById('agent');
    const tool = (name, runningDescription, handler, more) => ({ name, description: name, runningDescription, handler, ...more });
    agent.setPassthroughParams({ 'profile.employee_id': 'EMP-4821' });
    agent.setPageTools([
      tool('policy', 'Looking up the leave policy…', () => 'found', { completedDescription: 'Looked up the leave policy' }),
      tool('calendar', 'Reading your calendar', () => { throw new Error('not shared'); }),
      tool('form', 'Sending the form…', () => new Promise(() => {})),
      tool('profile', 'Update the profile', () => 'ok', {
        confirm: 'Set the status of Sarah Chen to “On leave” from Monday?',
        parameters: { type: 'object', properties: { employee_id: { type: 'string' } } },
      }),
    ]);
  });
}

/** The drawer with three conversations. */
async function drawer(host, runtime) {
  for (let at = 1; at <= 3; at += 1) {
    runtime.conversations.set(`c-${at}`, { title: `Talk ${at}`, updatedAt: `2026-01-0${at}T10:00:00Z`, messages: [{ id: `m-${at}`, role: 'user', content: 'Is delivery free?' }] });
  }
  await host.panel.host.getByRole('button', { name: 'Conversations' }).click();
  const dialog = host.panel.host.getByRole('dialog', { name: 'Conversations' });
  await dialog.getByRole('button', { name: 'Delete Talk 3' }).waitFor();
  return dialog;
}

/**
 * Each state: `reach(host, runtime)` brings an idle panel there. `page` are options of the host
 * page (`html` in `host.mjs`), `above` stands above the element, `attributes` those of the element, `context` options of the
 * browser. `screens` names the screens of the test, where not all make sense.
 */
export const STATES = {
  empty: { async reach() {} },
  conversation: {
    async reach(host, runtime) {
      runtime.onRun = (run) => run.start().say(ANSWER).finish();
      await host.send('Is delivery free?');
      await host.panel.shows(/Shall I look up/);
    },
  },
  streaming: {
    async reach(host, runtime) {
      runtime.hold();
      await host.start('Is delivery free?');
      (await runtime.nextRun()).start().say('Yes: every ord');
      await host.panel.shows(/every ord/);
    },
  },
  queue: {
    async reach(host, runtime) {
      await STATES.streaming.reach(host, runtime);
      for (const text of ['And to Norway?', 'How long does it take? '.repeat(20)]) {
        await host.panel.input.fill(text);
        await host.panel.input.press('Enter');
      }
      await until(async () => (await host.panel.host.locator('[part~="queue__item"][data-state=queued]').count()) === 2, 'the queue');
    },
  },
  'queue, changing': {
    async reach(host, runtime) {
      await STATES.queue.reach(host, runtime);
      await host.panel.host.locator('[part~="queue__button--edit"]').first().click();
    },
  },
  settings: {
    async reach(host, runtime) {
      runtime.permissions.declared = { run: true, read: true };
      await drawer(host, runtime);
      await host.panel.host.getByRole('button', { name: 'Settings' }).click();
    },
  },
  waiting: {
    async reach(host, runtime) {
      runtime.hold();
      await host.start('Is delivery free?');
      await runtime.nextRun();
      await host.panel.stopButton.waitFor();
    },
  },
  tools: {
    async reach(host, runtime) {
      await pageTools(host);
      runtime.onRun = (run) => (run.results.length < 3
        ? run.start().say('I look it up first.').endMessage().calls(['policy'], ['calendar'], ['form'])
        : run.start());
      await host.start('Am I on leave?');
      await host.panel.shows('Sending the form…');
      await host.panel.shows('Looked up the leave policy');
    },
  },
  question: {
    async reach(host, runtime) {
      await pageTools(host);
      runtime.asksFor([['policy'], ['profile', { status: 'on_leave', from: '2026-12-07', note: 'Back in two weeks. '.repeat(12) }]]);
      await host.start('Set my status to on leave from Monday');
      await host.panel.allowButton.waitFor();
      await host.panel.shows('Looked up the leave policy');
    },
  },
  questionnaire: {
    async reach(host, runtime) {
      const steps = [
        {
          id: 'when', question: 'When should the move begin?', description: 'The lorry has to be booked a week before.',
          selectionMode: 'single', allowOther: true, required: true,
          options: [{ id: 'mon', label: 'Monday, 7 December', recommended: true }, { id: 'fri', label: 'Friday, 11 December', description: 'The lift is closed until noon.' }],
        },
        { id: 'why', question: 'Anything else?', selectionMode: 'single', allowOther: true, required: false },
      ];
      const questionnaire = { id: 'plan', title: 'The plan of the move', steps };
      const interrupts = [{ id: 'plan', reason: 'input_required', message: 'The plan of the move', metadata: { mindset: { questionnaire } } }];
      runtime.onRun = (run) => run.start().say('Before I book it, two questions.').finish({ type: 'interrupt', interrupts });
      await host.send('Book the move');
      await host.panel.shows('When should the move begin?');
    },
  },
  append: {
    async reach(host) {
      await host.run(() => void document.getElementById('agent').appendMessage('Rows 3 to 7 of the table "Moves":\nBerlin, Lyon, Porto'));
      await host.panel.host.getByRole('dialog').waitFor();
    },
  },
  sources: {
    async reach(host, runtime) {
      runtime.onRun = (run) => {
        run.start().say('Unused days move to the next year [1] until the end of March [2].');
        run.event({ type: 'CUSTOM', name: 'mindset.citations', value: { messageId: run.messageId, items: SOURCES } });
        run.finish();
      };
      await host.send('What happens to my days?');
      await host.panel.shows('Leave policy');
    },
  },
  error: {
    async reach(host, runtime) {
      runtime.onRun = (run) => { run.start().say('Yes: ev'); run.end(); };
      await host.send('Is delivery free?');
      await host.panel.retryButton.waitFor();
    },
  },
  'new messages': {
    async reach(host, runtime) {
      runtime.onRun = (run) => run.start().say('A line of the answer.\n\n'.repeat(60)).finish();
      await host.send('Tell me everything');
      await host.panel.log.hover();
      await host.page.mouse.wheel(0, -200);
      await host.panel.log.evaluate((log) => new Promise((done) => setTimeout(() => done(log.scrollTop), 100)));
      runtime.onRun = (run) => run.start().say('And this.').finish();
      await host.send('Is that all?');
      await host.panel.host.getByRole('button', { name: /New messages/ }).waitFor();
    },
  },
  disabled: {
    attributes: 'disabled="Sign in to write a message."',
    async reach(host) {
      await host.panel.shows('Sign in to write a message.');
    },
  },
  'too long': {
    async reach(host) {
      await host.panel.input.fill('x'.repeat(100_001));
      await host.panel.shows(/This message is too long/);
    },
  },
  // The headings of answers begin below the one of the section that the panel stands in.
  markdown: {
    above: '<h2>Ask us</h2>',
    async reach(host, runtime) {
      runtime.onRun = (run) => run.start().say(MARKDOWN).finish();
      await host.send('What does delivery cost?');
      await host.panel.shows('The end.');
      await host.panel.host.locator('math').waitFor();
      await host.panel.host.locator('pre .hl-keyword, pre [class*=key], pre code span').first().waitFor();
    },
  },
  thinking: {
    async reach(host, runtime) {
      runtime.hold();
      await host.start('Is delivery free?');
      (await runtime.nextRun()).start().event({ type: 'REASONING_MESSAGE_CHUNK', messageId: 'think', delta: 'The person asks about delivery. ' });
      await host.panel.host.getByRole('button', { name: /^Thinking/ }).click();
      await host.panel.shows(/asks about delivery/);
    },
  },
  suggestions: {
    async reach(host, runtime) {
      runtime.onRun = (run) => {
        run.start().say(ANSWER).endMessage();
        run.event({ type: 'CUSTOM', name: 'mindset.suggestions', value: { items: ['And to Norway?', 'How long does it take?'] } });
        run.finish();
      };
      await host.send('Is delivery free?');
      await host.panel.host.getByRole('button', { name: 'And to Norway?' }).waitFor();
    },
  },
  editing: {
    async reach(host, runtime) {
      await STATES.conversation.reach(host, runtime);
      await host.panel.input.focus();
      await host.page.keyboard.press('ArrowUp');
      await until(async () => (await host.panel.input.inputValue()) !== '', 'the message to be edited');
    },
  },
  files: {
    attributes: 'uploads',
    async reach(host, runtime) {
      const chosen = ['plan.png', 'not-allowed.exe'].map((name) => ({ name, mimeType: name.endsWith('png') ? 'image/png' : 'application/x-msdownload', buffer: Buffer.from('x') }));
      await host.panel.host.locator('input[type=file]').setInputFiles(chosen);
      await until(() => runtime.uploads.length, 'the upload');
      await host.panel.shows('plan.png');
      await host.panel.shows(/not-allowed\.exe/);
    },
  },
  forms: {
    async reach(host, runtime) {
      runtime.onRun = (run) => {
        run.start();
        for (const [at, widget] of WIDGETS.entries()) run.event({ type: 'CUSTOM', name: 'mindset.widget', value: { widgetId: `w${at}`, ...widget } });
        run.finish();
      };
      await host.send('Show me everything');
      await until(async () => (await host.panel.host.locator('[part~="widget"]').count()) === WIDGETS.length, 'all widgets');
      await host.panel.log.getByRole('button', { name: 'Ask for leave' }).click();
    },
  },
  drawer: {
    async reach(host, runtime) {
      await drawer(host, runtime);
    },
  },
  'drawer, empty': {
    async reach(host) {
      await host.panel.host.getByRole('button', { name: 'Conversations' }).click();
      await host.panel.shows('No conversations yet.');
    },
  },
  'drawer, renaming': {
    async reach(host, runtime) {
      await (await drawer(host, runtime)).getByRole('button', { name: 'Rename Talk 1' }).click();
    },
  },
  'drawer, deleting': {
    async reach(host, runtime) {
      await (await drawer(host, runtime)).getByRole('button', { name: 'Delete Talk 1' }).click();
    },
  },
  'drawer, failed': {
    async reach(host, runtime) {
      runtime.onList = () => [503, 'server-error', 'The conversations cannot be read now.', true];
      await host.panel.host.getByRole('button', { name: 'Conversations' }).click();
      await host.panel.host.getByRole('dialog').getByRole('alert').waitFor();
    },
  },
  bubble: {
    attributes: 'layout="bubble"',
    async reach(host, runtime) {
      runtime.onRun = (run) => run.start().say(ANSWER).finish();
      await host.send('Is delivery free?');
      await host.panel.host.locator('[part~="badge"]').waitFor();
    },
  },
  'bubble, open': {
    attributes: 'layout="bubble" open',
    async reach(host, runtime) {
      await STATES.conversation.reach(host, runtime);
    },
  },
  panel: {
    attributes: 'layout="panel" open',
    async reach(host, runtime) {
      await STATES.conversation.reach(host, runtime);
    },
  },
  Arabic: {
    attributes: 'locale="ar"',
    async reach(host, runtime) {
      await until(() => host.panel.host.locator('section[lang=ar]').count(), 'the texts');
      runtime.onRun = (run) => {
        run.start().say(`${ARABIC}\n\n| الوزن | السعر |\n|---|---:|\n| 1 | 89 |\n\n\`\`\`js\nshow(1)\n\`\`\``).endMessage();
        for (const widget of WIDGETS.filter(({ kind }) => kind === 'form' || kind === 'table')) run.event({ type: 'CUSTOM', name: 'mindset.widget', value: { widgetId: widget.kind, ...widget } });
        run.fail('The model is not there.', { reason: 'model_error', retryable: true });
      };
      await host.send('هل التوصيل مجاني؟');
      await host.panel.shows(/ORD-4821/);
      await host.panel.host.locator('[part~="notice__button"]').waitFor();
    },
  },
  'right-to-left': {
    page: { head: '<style>html { direction: rtl }</style>' },
    async reach(host, runtime) {
      runtime.onRun = (run) => run.start().say(ARABIC).finish();
      await host.send('هل التوصيل مجاني؟');
      await host.panel.shows(/ORD-4821/);
    },
  },
  'forced colours': {
    context: { forcedColors: 'active' },
    screens: ['light'],
    async reach(host, runtime) {
      await STATES.conversation.reach(host, runtime);
      await host.panel.input.focus();
    },
  },
};
