// Widgets: what tools show is drawn natively, used, locked, and harmless.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

import { ROOT } from '../support/paths.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const EXAMPLES = JSON.parse(readFileSync(join(ROOT, 'schema/widgets.json'), 'utf8')).examples;
const example = (kind) => structuredClone(EXAMPLES.find((widget) => widget.kind === kind));

/** A ready element on a page of its whole height. */
function ready({ context, attributes = '' } = {}) {
  return s.ready({
    context,
    head: '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><style>mindset-agent { height: 700px }</style>',
    elements: `<mindset-agent id="agent" agent-uid="support" ${attributes}></mindset-agent>`,
  });
}

const show = (run, widgets) => {
  run.start();
  for (const [at, widget] of widgets.entries()) {
    run.event({ type: 'CUSTOM', name: 'mindset.widget', value: { widgetId: `w${at}`, ...widget } });
  }
  return run;
};

/** Has the agent show widgets, and then say something to each action. */
async function shown(host, ...widgets) {
  s.runtime.onRun = (run) => (run.text.startsWith('[widget action] ') ? run.start().say('Noted.').finish() : show(run, widgets).finish());
  await host.send('show me');
}

const widgets = (host) => host.panel.host.locator('[part~="widget"]');

/** What the server was told last, as the model reads it. */
async function told() {
  const run = await until(() => s.runtime.runs.find(({ text }) => text?.startsWith('[widget action] ')), 'the action to be told');
  return [JSON.parse(run.text.slice('[widget action] '.length)), run.input.forwardedProps.mindset];
}

/** Nothing was run, nothing was asked for but the runtime's, and no policy was broken. */
async function harmless(host) {
  assert.deepEqual(await host.violations(), []);
  assert.deepEqual(host.requests.filter((url) => !url.startsWith(s.runtime.origin)), []);
  assert.deepEqual(await host.errors(), []);
}

async function findings(host) {
  await host.page.evaluate(AXE);
  await host.run(() => Promise.all(document.getElementById('agent').shadowRoot.getAnimations()
    .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime)).map((animation) => animation.finished.catch(() => {}))));
  const skip = ['region', 'landmark-one-main', 'page-has-heading-one'];
  const results = await host.run((skip) => window.axe.run(document, { rules: Object.fromEntries(skip.map((id) => [id, { enabled: false }])) }), skip);
  return results.violations.map((v) => `${v.id}: ${v.help} (${v.nodes.map((n) => n.html.slice(0, 120)).join(', ')})`);
}

test('every kind is drawn in the place of its summary, in semantic elements', async () => {
  const host = await ready();
  await shown(host, ...EXAMPLES);
  await until(async () => (await widgets(host).count()) === EXAMPLES.length, 'all widgets');
  const panel = host.panel.log;
  for (const { summary } of EXAMPLES.filter(({ kind }) => kind !== 'chart')) assert.equal(await panel.getByText(summary).isVisible(), false, summary);
  await panel.getByRole('link', { name: /^JD014600006281230704/ }).waitFor();
  assert.equal(await panel.getByRole('link').getAttribute('rel'), 'noopener noreferrer');
  await panel.getByText('parcels.example').waitFor();
  await panel.getByText('€89.90').waitFor();
  await panel.locator('time', { hasText: 'Nov 28, 2026' }).waitFor();
  await panel.getByRole('list').filter({ hasText: 'Amber' }).waitFor();
  const table = panel.getByRole('table', { name: 'Leave that is left' });
  assert.deepEqual(await table.getByRole('columnheader').allTextContents(), ['Name', 'Days', 'Taken', 'Next leave']);
  assert.deepEqual(await table.getByRole('rowheader').allTextContents(), ['Ada', 'Grace']);
  assert.deepEqual(await table.getByRole('cell').allTextContents(), ['12', '60%', 'Dec 21, 2026', '3.5', '88.3%', '\u2013']);
  await panel.getByRole('group', { name: 'Ask for leave' }).waitFor();
  await panel.getByLabel('Last day *', { exact: true }).waitFor();
  await panel.getByRole('group', { name: 'Which plan fits?' }).getByRole('radio', { name: /Team/ }).waitFor();
  const picture = panel.getByRole('img', { name: 'Tickets a week' });
  assert.equal(await picture.locator('rect').count(), 9, 'three weeks, two series, one of them with a pattern over it');
  assert.equal(await panel.getByRole('progressbar', { name: 'Your new laptop' }).evaluate((bar) => bar.value), 0.5);
  assert.equal(await panel.locator('[aria-current=step]').textContent(), 'In progress: Set up');
  await harmless(host);
});

const SCREENS = {
  light: {},
  dark: { context: { colorScheme: 'dark' } },
  phone: { context: { viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true } },
  'right to left': { attributes: 'dir="rtl"' },
  'forced colours': { context: { forcedColors: 'active' } },
};

for (const [name, options] of Object.entries(SCREENS)) {
  test(`${name}: no findings, nothing cut off`, async () => {
    const host = await ready(options);
    const line = { ...example('chart'), doc: { ...example('chart').doc, type: 'line' } };
    const pie = { kind: 'chart', summary: 'Tickets by team.', doc: { type: 'pie', title: 'By team', labels: ['a', 'b', 'c', 'd', 'e', 'f', 'g'], series: [{ name: 'Tickets', values: [7, 6, 5, 4, 3, 2, 1] }] } };
    await shown(host, ...EXAMPLES, line, pie);
    await until(async () => (await widgets(host).count()) === EXAMPLES.length + 2, 'all widgets');
    await host.page.evaluate(() => document.querySelector('mindset-agent').shadowRoot.querySelector('[role=log]').scrollTo(0, 0));
    assert.deepEqual(await findings(host), []);
    const wide = await host.panel.log.evaluate((log) => log.scrollWidth - log.clientWidth);
    assert.ok(wide <= 0, `the transcript scrolls sideways by ${wide} px`);
    const panel = host.panel.log;
    for (let charts = 3; charts > 0; charts -= 1) await panel.getByRole('button', { name: 'Show as table' }).first().click();
    await panel.getByRole('button', { name: 'Ask for leave' }).click();
    await panel.getByRole('button', { name: 'Choose' }).click();
    assert.deepEqual(await findings(host), [], 'with tables and errors');
    await panel.getByRole('radio', { name: /Team/ }).check();
    await panel.getByRole('button', { name: 'Choose' }).click();
    await panel.getByText('You chose: Team').waitFor();
    assert.deepEqual(await findings(host), [], 'locked');
  });
}

test('a form says what is missing, sends its values with their types, and is locked', async () => {
  const host = await ready();
  await shown(host, {
    kind: 'form',
    summary: 'A form.',
    doc: {
      title: 'Order',
      fields: [
        { name: 'name', label: 'Name', type: 'text', required: true, minLength: 3 },
        { name: 'seats', label: 'Seats', type: 'number', required: true, min: 1, max: 8, step: 1 },
        { name: 'mail', label: 'Mail', type: 'email' },
        { name: 'day', label: 'Day', type: 'date', value: '2026-12-01' },
        { name: 'kind', label: 'Kind', type: 'select', options: [{ value: 'a', label: 'Alpha' }, { value: 'b', label: 'Beta' }] },
        { name: 'quiet', label: 'Quiet', type: 'checkbox' },
        { name: 'constructor', label: 'Note', type: 'multiline', hint: 'A few words' },
      ],
      submit: { action: 'order', label: 'Order it' },
    },
  });
  const panel = host.panel.log;
  const submit = panel.getByRole('button', { name: 'Order it' });
  await submit.click();
  const name = panel.getByRole('textbox', { name: 'Name' });
  assert.equal(await name.evaluate((e) => e.getRootNode().activeElement === e), true, 'the first mistake has the focus');
  assert.equal(await name.getAttribute('aria-invalid'), 'true');
  const described = await name.evaluate((e) => e.getRootNode().getElementById(e.getAttribute('aria-describedby')).textContent);
  assert.ok(described.length > 0);
  assert.equal(await panel.locator('[part~="widget__error"]').count(), 2);
  await name.pressSequentially('Grace');
  assert.equal(await name.getAttribute('aria-invalid'), null, 'what is mended is no mistake');
  await panel.getByLabel('Seats').fill('9');
  await panel.getByLabel('Mail').fill('not a mail');
  await submit.click();
  assert.equal(await panel.locator('[part~="widget__error"]').count(), 2);
  assert.equal(s.runtime.runs.length, 1);
  await panel.getByLabel('Seats').fill('2');
  await panel.getByLabel('Mail').fill('');
  await panel.getByLabel('Kind').selectOption('b');
  await panel.getByLabel('Quiet').check();
  await panel.getByLabel('Note').fill('Two\nlines');
  await name.press('Enter');
  const [action, mindset] = await told();
  const payload = { name: 'Grace', seats: 2, day: '2026-12-01', kind: 'b', quiet: true, constructor: 'Two\nlines' };
  assert.deepEqual(action, { widgetId: 'w0', kind: 'form', summary: 'A form.', action: 'order', payload });
  assert.equal(mindset.inputType, 'PSEUDO_HUMAN');
  assert.deepEqual(mindset.widgetAction.payload, payload);
  await panel.getByText('Noted.').waitFor();
  await panel.getByText('Sent', { exact: true }).waitFor();
  assert.equal(await name.isDisabled(), true);
  assert.deepEqual([await name.inputValue(), await panel.getByLabel('Seats').inputValue(), await panel.getByLabel('Kind').inputValue()], ['Grace', '2', 'b']);
  assert.equal(await submit.count(), 0);
  assert.equal(await widgets(host).evaluate((e) => e.getRootNode().activeElement === e), true, 'the focus stays with the widget');
  assert.equal(await panel.getByText('[widget action]').count(), 0, 'nobody sees the message');
  const messages = (await host.saw('complete', 2)).detail.messages.map(({ content }) => content);
  assert.deepEqual(messages, ['Noted.']);
  await harmless(host);
});

test('a form speaks of mistakes in the language of the element, not in that of the browser', async () => {
  const host = await ready({ attributes: 'locale="de"' });
  const field = (name, type, more) => ({ name, label: name, type, ...more });
  await shown(host, {
    kind: 'form',
    summary: 'A form.',
    doc: {
      title: 'Order',
      fields: [
        field('name', 'text', { required: true }), field('short', 'text', { minLength: 3 }), field('mail', 'email'), field('site', 'url'),
        field('low', 'number', { min: 1000 }), field('day', 'date', { max: '2026-12-01' }), field('step', 'number', { step: 2 }), field('sure', 'checkbox', { required: true }),
      ],
      submit: { action: 'order', label: 'Bestellen' },
    },
  });
  const panel = host.panel.log;
  for (const [name, words] of Object.entries({ short: 'ab', mail: 'x', site: 'y', low: '5', day: '2026-12-24', step: '3' })) {
    if (name === 'short') await panel.getByLabel(name).pressSequentially(words);
    else await panel.getByLabel(name).fill(words);
  }
  await panel.getByRole('button', { name: 'Bestellen' }).click();
  assert.deepEqual(await panel.locator('[part~="widget__error"]').allInnerTexts(), [
    'Bitte f\u00fcllen Sie dieses Feld aus.',
    'Mindestanzahl Zeichen: 3.',
    'Geben Sie eine E-Mail-Adresse wie name@example.com ein.',
    'Geben Sie eine Webadresse wie https://example.com ein.',
    'Nicht weniger als 1.000.',
    'Nicht mehr als 01.12.2026.',
    'Bitte pr\u00fcfen Sie diese Angabe.',
    'Bitte f\u00fcllen Sie dieses Feld aus.',
  ]);
});

test('a picture of a widget is loaded where the page allows its origin, elsewhere when the person asks', async () => {
  const host = await ready();
  const url = `${s.runtime.origin}/parcel.svg`;
  s.runtime.page('/parcel.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>', { 'content-type': 'image/svg+xml' });
  const card = { kind: 'card', summary: 'A parcel.', doc: { title: 'Parcel', image: { url, alt: 'The parcel' } } };
  const list = { kind: 'list', summary: 'Parcels.', doc: { items: [{ title: 'One', image: { url, alt: 'Another' } }] } };
  await shown(host, card, list);
  await widgets(host).nth(1).waitFor();
  const asked = () => host.requests.filter((one) => one === url).length;
  assert.equal(await widgets(host).locator('img').count(), 0);
  assert.equal(asked(), 0, 'drawing asks nobody');
  await widgets(host).first().getByText(`Image from ${new URL(url).host}`).waitFor();
  await widgets(host).first().getByRole('button', { name: /^Load image: The parcel/ }).click();
  await until(() => asked() === 1, 'the picture that was asked for');
  await host.run((origin) => { document.getElementById('agent').imageOrigins = origin; }, s.runtime.origin);
  await shown(host, card, list, card);
  await widgets(host).nth(2).locator('img[alt="The parcel"]').waitFor({ state: 'attached' });
  assert.equal(await widgets(host).nth(2).locator('button').count(), 0);
});

test('choices are made with the keyboard alone', async () => {
  const host = await ready();
  const { doc } = example('choices');
  await shown(host, { kind: 'choices', summary: 'Which?', doc: { question: doc.question, options: doc.options } });
  const panel = host.panel.log;
  const button = panel.locator('[part~="widget"]').getByRole('button', { name: 'Send' });
  await button.focus();
  await host.page.keyboard.press('Enter');
  await panel.getByText('Please choose at least one.').waitFor();
  await host.page.keyboard.press('ArrowDown');
  await host.page.keyboard.press('Tab');
  await host.page.keyboard.press('Enter');
  const [action] = await told();
  assert.deepEqual([action.action, action.payload], ['choose', { selected: ['team'] }]);
  await panel.getByText('You chose: Team').waitFor();
  assert.deepEqual(await panel.getByRole('radio').evaluateAll((all) => all.map((radio) => [radio.checked, radio.matches(':disabled')])), [[false, true], [true, true], [false, true]]);
});

test('several choices, and buttons of cards and lists', async () => {
  const host = await ready();
  const { question, options } = example('choices').doc;
  const card = example('card');
  card.doc.repeat = true;
  await shown(host, { kind: 'choices', summary: 's', doc: { question, options, mode: 'multiple', submit: { action: 'pick', label: 'Pick' } } }, card, example('list'));
  const panel = host.panel.log;
  await panel.getByRole('checkbox', { name: /Basic/ }).check();
  await panel.getByRole('checkbox', { name: /Company/ }).check();
  await panel.getByRole('button', { name: 'Pick' }).click();
  await panel.getByText('You chose: Basic, Company').waitFor();
  await until(() => s.runtime.runs.length === 2, 'the choices');
  await host.saw('agent-idle', 3);
  await panel.getByRole('button', { name: 'Order again' }).click();
  await host.saw('agent-idle', 4);
  await panel.getByRole('button', { name: 'Return it' }).click();
  await host.saw('agent-idle', 5);
  await panel.getByText('You chose: Return it').waitFor();
  await panel.getByRole('button', { name: 'Book' }).nth(1).click();
  await panel.getByText('You chose: Book').waitFor();
  assert.equal(await panel.getByRole('button', { name: 'Book' }).nth(0).isDisabled(), true);
  const actions = s.runtime.runs.slice(1).map(({ text }) => JSON.parse(text.slice(16))).map(({ action, payload }) => [action, payload]);
  assert.deepEqual(actions, [
    ['pick', { selected: ['basic', 'company'] }],
    ['again', { order: 1042 }],
    ['return', { order: 1042 }],
    ['book', { room: 'birch' }],
  ]);
});

test('a chart has its numbers behind a button', async () => {
  const host = await ready();
  await shown(host, example('chart'));
  const panel = host.panel.log;
  await panel.getByRole('button', { name: 'Show as table' }).click();
  const table = panel.getByRole('table', { name: 'Tickets a week (tickets)' });
  assert.deepEqual(await table.getByRole('row').allInnerTexts(), ['Label\tOpened\tClosed', 'Week 46\t42\t40', 'Week 47\t38\t41', 'Week 48\t51\t47']);
  assert.equal(await panel.getByRole('img', { name: 'Tickets a week' }).isVisible(), false);
  await panel.getByRole('button', { name: 'Show as chart' }).click();
  assert.equal(await table.isVisible(), false);
});

test('while the agent is busy a widget waits and says so', async () => {
  const host = await ready();
  await shown(host, example('card'));
  const panel = host.panel.log;
  await widgets(host).waitFor();
  s.runtime.hold();
  await host.start('and?');
  const run = await s.runtime.nextRun();
  run.start().say('Well');
  await panel.getByRole('button', { name: 'Order again' }).click();
  await panel.getByText('Wait for the answer, then try again.').waitFor();
  assert.equal(s.runtime.runs.length, 2);
  run.finish();
  await host.late();
  s.runtime.onRun = (next) => next.start().say('Noted.').finish();
  await panel.getByRole('button', { name: 'Order again' }).click();
  await panel.getByText('You chose: Order again').waitFor();
});

const BAD = [
  ['hologram', { title: 'T' }],
  ['__proto__', {}],
  ['constructor', {}],
  ['card', null],
  ['card', []],
  ['card', { title: { toString: 1 } }],
  ['card', { title: 'T', fields: 7 }],
  ['card', { title: 'T', actions: Array(7).fill({ action: 'a', label: 'L' }) }],
  ['list', { items: [] }],
  ['list', { items: Array(101).fill({ title: 'T' }) }],
  ['table', { columns: [{ key: 'a', label: 'A' }], rows: Array(201).fill({}) }],
  ['table', { columns: [{ key: 'a', label: 'A' }], rows: [{ a: { b: 1 } }] }],
  ['form', { title: 'T', fields: [{ name: 'a', label: 'A', type: 'password' }], submit: { action: 'a', label: 'L' } }],
  ['form', { title: 'T', fields: Array(2).fill({ name: 'a', label: 'A', type: 'text' }), submit: { action: 'a', label: 'L' } }],
  ['choices', { question: 'Q', options: Array(2).fill({ id: 'a', label: 'A' }) }],
  ['chart', { type: 'bar', title: 'T', labels: ['a'], series: [{ name: 's', values: ['1'] }] }],
  ['chart', { type: 'bar', title: 'T', labels: ['a'], series: [{ name: 's', values: [1e300] }] }],
  ['chart', { type: 'pie', title: 'T', labels: ['a'], series: [{ name: 's', values: [-1] }] }],
  ['progress', { title: 'T' }],
  ['progress', { title: 'T', value: '0.5' }],
  ['card', { title: 'T', more: 'x'.repeat(140_000) }],
];

test('of unknown kinds and bad documents people see the summary', async () => {
  const host = await ready();
  await shown(host, ...BAD.map(([kind, doc], at) => ({ kind, doc, summary: `In words ${at}.` })), example('card'));
  await widgets(host).waitFor();
  for (const at of BAD.keys()) await host.panel.log.getByText(`In words ${at}.`, { exact: true }).waitFor();
  assert.equal(await widgets(host).count(), 1);
  await harmless(host);
});

const PAYLOADS = [
  '<img src=x onerror=alert(1)>', '"><script>alert(1)</script>', "' onfocus=alert(1) autofocus='", '<svg/onload=alert(1)>',
  'javascript:alert(1)', '**bold** [x](javascript:alert(1))', '|class=x|onclick=alert(1)', '{{7*7}}${7*7}', '&lt;b&gt;',
];

/** The document with every text a person reads replaced. */
function poisoned(value, payload, key = '') {
  if (Array.isArray(value)) return value.map((item) => poisoned(item, payload, key));
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poisoned(item, payload, name)]));
  const isFixed = ['type', 'mode', 'state', 'style', 'align', 'currency', 'name', 'id', 'key', 'icon'].includes(key);
  return typeof value === 'string' && !isFixed ? payload : value;
}

test('hostile texts in every field are text', async () => {
  const host = await ready();
  await host.run(() => { window.alert = () => { throw new Error('a script ran'); }; });
  for (const payload of PAYLOADS) {
    const hostile = EXAMPLES.map(({ kind, doc }) => ({ kind, doc: poisoned(doc, payload), summary: payload }));
    hostile.push({ kind: 'card', summary: payload, doc: { title: payload, href: payload, image: { url: payload, alt: payload } } });
    const before = s.runtime.runs.length;
    s.runtime.onRun = (run) => {
      run.start();
      for (const [at, widget] of hostile.entries()) run.event({ type: 'CUSTOM', name: 'mindset.widget', value: { widgetId: `${before}-${at}`, ...widget } });
      run.finish();
    };
    await host.send('show me');
    await until(async () => (await widgets(host).count()) === hostile.length * (before + 1), `widgets with ${payload}`);
  }
  const found = await host.run(() => {
    const { shadowRoot } = document.getElementById('agent');
    const all = [...shadowRoot.querySelectorAll('[part~="widget"] *')];
    return {
      elements: all.filter((e) => /^(script|img|iframe|object|embed|a|style|link|base|foreignObject)$/i.test(e.localName)).map((e) => e.outerHTML),
      handlers: all.filter((e) => [...e.attributes].some(({ name }) => /^on/i.test(name))).map((e) => e.outerHTML),
    };
  });
  assert.deepEqual(found, { elements: [], handlers: [] });
  await harmless(host);
});

test('links lead to the web and to mail only, and show where', async () => {
  const host = await ready();
  const link = (href) => ({ title: 'Here', href });
  const hrefs = ['https://a.example/x', 'HTTP://B.example', 'mailto:ada@example.org', 'java\tscript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', '//c.example', '/d', 'https://good.example@evil.example/', 'vbscript:x', 'blob:https://a.example/1'];
  await shown(host, { kind: 'list', summary: 's', doc: { items: hrefs.map(link) } });
  await widgets(host).waitFor();
  const links = await host.panel.log.getByRole('link').evaluateAll((all) => all.map((a) => [a.href, a.rel, a.nextSibling.textContent.trim()]));
  assert.deepEqual(links, [
    ['https://a.example/x', 'noopener noreferrer', 'a.example'],
    ['http://b.example/', 'noopener noreferrer', 'b.example'],
    ['mailto:ada@example.org', 'noopener noreferrer', 'ada@example.org'],
  ]);
});

test('what draws widgets cannot be loaded: the summary stays, and the next widget tries again', async () => {
  const host = await ready();
  let blocked = true;
  await host.page.route('**/mindset-widgets-*', (route) => (blocked ? route.abort() : route.continue()));
  await shown(host, example('card'));
  await host.panel.log.getByText(example('card').summary).waitFor();
  await until(() => host.requests.some((url) => url.includes('mindset-widgets-')), 'the chunk to be asked for');
  blocked = false;
  await until(async () => {
    s.runtime.onRun = (run) => {
      run.start().event({ type: 'CUSTOM', name: 'mindset.widget', value: { widgetId: crypto.randomUUID(), ...example('progress') } });
      run.finish();
    };
    await host.send('again');
    return (await widgets(host).count()) > 0;
  }, 'a widget to be drawn');
});

test('widgets of a stored conversation are drawn, locked if they were used', async () => {
  const messages = [
    { id: 'u1', role: 'user', content: 'show me', createdAt: '2026-11-30T08:00:00Z' },
    { id: 'w1', role: 'assistant', content: 'Which plan?', widget: { ...example('choices'), answer: { action: 'choose_plan', payload: { selected: ['basic'] } } } },
    { id: 'w2', role: 'assistant', content: 'A form.', widget: example('form') },
  ];
  s.runtime.conversations.set('c1', { messages });
  const host = await ready({ attributes: 'conversation-id="c1"' });
  const panel = host.panel.log;
  await panel.getByText('You chose: Basic').waitFor();
  await panel.getByLabel('First day *', { exact: true }).fill('2026-12-02');
  await panel.getByLabel('Last day *', { exact: true }).fill('2026-12-04');
  s.runtime.onRun = (run) => run.start().say('Noted.').finish();
  await panel.getByRole('button', { name: 'Ask for leave' }).click();
  const [action] = await told();
  assert.deepEqual([action.widgetId, action.payload], ['w2', { from: '2026-12-02', to: '2026-12-04', kind: 'paid', half: false }]);
});

test('what a person has begun to fill in is there when the conversation is drawn anew', async () => {
  s.runtime.conversations.set('c1', { messages: [{ id: 'w2', role: 'assistant', content: 'A form.', widget: example('form') }] });
  s.runtime.conversations.set('c2', { messages: [{ id: 'm', role: 'assistant', content: 'Something else.' }] });
  const host = await ready({ attributes: 'conversation-id="c1"' });
  const note = host.panel.log.getByLabel('Note');
  await note.fill('Half a sen');
  for (const [id, text] of [['c2', 'Something else.'], ['c1', 'Ask for leave']]) {
    await host.run((id) => document.getElementById('agent').switchConversation(id), id);
    await host.panel.log.getByText(text).first().waitFor();
  }
  assert.equal(await note.inputValue(), 'Half a sen');
});

test('a UI-less client uses widgets too, and its transcript says what was done', async () => {
  const host = await ready();
  s.runtime.onRun = (run) => (run.text.startsWith('[widget action] ') ? run.start().say('Noted.').finish() : show(run, [example('choices')]).finish());
  const [payload, answer, result] = await host.run(async () => {
    const chat = window.mindset.createChat({ server: location.origin, appUid: 'acme', agentUid: 'support' });
    const heard = new Promise((resolve) => chat.on((event) => event.type === 'widget-payload' && resolve(event)));
    await chat.send('show me');
    const { widgetId, kind } = await heard;
    const result = await chat.widgetAction(widgetId, 'choose_plan', { selected: ['team'] });
    const { widget } = chat.messages.find((message) => message.widget);
    chat.close();
    return [kind, widget.answer, result.text];
  });
  assert.deepEqual([payload, answer, result], ['choices', { action: 'choose_plan', payload: { selected: ['team'] } }, 'Noted.']);
});

test('the page uses a widget for the person', async () => {
  const host = await ready();
  await shown(host, { kind: 'seating_plan', doc: { rows: 3 }, summary: 'A seating plan.' });
  const act = (...args) => host.run(async (args) => {
    try {
      return await document.getElementById('agent').widgetAction(...args);
    } catch (error) {
      return [error.name, error.code, error.message];
    }
  }, args);
  for (const [args, message] of [
    [['nobody', 'choose'], /no widget with this id/],
    [['w0', ''], /needs a name/],
    [['w0', 7], /are texts/],
    [[undefined, 'choose'], /are texts/],
    [['w0', 'choose', { text: 'x'.repeat(40_000) }], /at most 32768/],
  ]) {
    const [name, code, said] = await act(...args);
    assert.deepEqual([name, code], ['MindsetError', 'invalid-request'], said);
    assert.match(said, message);
  }
  const cyclic = await host.run(() => {
    const loop = {};
    loop.loop = loop;
    try {
      return document.getElementById('agent').widgetAction('w0', 'choose', loop);
    } catch (error) {
      return [error.code, error.message];
    }
  });
  assert.equal(cyclic[0], 'invalid-request');
  assert.match(cyclic[1], /contains itself/);
  const result = await act('w0', 'choose', { seat: '4A', price: 12.5, none: null });
  assert.deepEqual([result.status, result.text], ['finished', 'Noted.']);
  const [action] = await told();
  assert.deepEqual([action.action, action.payload], ['choose', { seat: '4A', price: 12.5, none: null }]);
  s.runtime.hold();
  await host.start('and?');
  await s.runtime.nextRun();
  assert.equal((await act('w0', 'choose'))[1], 'busy');
});
