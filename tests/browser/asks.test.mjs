// What the server asks people: approvals and questionnaires as cards, by keyboard and screen
// reader, across reloads and tabs, and answered by pages that draw nothing.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { Panel } from '../support/panel.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** Rules an element cannot answer for: they are about the page around it. */
const PAGE_RULES = ['region', 'landmark-one-main', 'page-has-heading-one'];

async function axe(host) {
  await host.page.evaluate(readFileSync(AXE, 'utf8'));
  // What fades in is measured when it stands.
  await host.run(() => Promise.all(document.getElementById('agent').shadowRoot.getAnimations()
    .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
    .map((animation) => animation.finished.catch(() => {}))));
  const rules = Object.fromEntries(PAGE_RULES.map((id) => [id, { enabled: false }]));
  const { violations } = await host.run((rules) => window.axe.run(document, { rules }), rules);
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

const APPROVAL = {
  id: 'a1', reason: 'tool_call', message: 'The agent wants to run pay.', toolCallId: 'c1',
  metadata: { mindset: { toolName: 'pay', source: 'mcp', reason: 'This tool needs your approval.', toolInput: { to: 'Ann <b>', key: '•••' } } },
};
const STEPS = [
  {
    id: 'when', question: 'When?', selectionMode: 'single', allowOther: true, required: true,
    options: [{ id: 'now', label: 'Now', recommended: true }, { id: 'later', label: 'Later <i>', description: 'In an hour' }],
  },
  { id: 'who', question: 'Who?', selectionMode: 'multiple', allowOther: false, required: false, options: [{ id: 'a', label: 'Ann' }, { id: 'b', label: 'Bob' }] },
  { id: 'why', question: 'Why?', selectionMode: 'single', allowOther: true, required: true },
];
const QUESTIONS = { id: 'q1', reason: 'input_required', message: 'Plan', toolCallId: 'c3', metadata: { mindset: { toolName: 'ask_user', questionnaire: { id: 'q1', title: 'Plan', steps: STEPS } } } };

/** The first run asks, those that resume say `Done.`. */
function asks(...interrupts) {
  s.runtime.onRun = (run) => (run.input.resume ? run.start().say('Done.').finish() : run.start().finish({ type: 'interrupt', interrupts }));
}

async function asked(interrupts, options) {
  asks(...interrupts);
  const host = await s.ready(options);
  await host.start('go');
  return host;
}

const resume = () => s.runtime.runs.at(-1).input.resume;
const agent = (host, method, ...args) => host.run(([method, args]) => document.getElementById('agent').agent[method](...args).then(
  (value) => ({ value: value ?? null }),
  (error) => ({ name: error.name, code: error.code, disposition: error.disposition }),
), [method, args]);
const button = (host, name) => host.panel.question.getByRole('button', { name, exact: true });

test('an approval is a card, and its word goes to the server', async () => {
  const host = await asked([APPROVAL]);
  await host.panel.allowButton.waitFor();
  assert.equal(await host.busy(), true);
  assert.equal(s.runtime.runs[0].input.forwardedProps.mindset.answers, true);
  assert.match(await host.panel.question.innerText(), /May the agent use “pay”\? This tool needs your approval\.\s+to\s+Ann <b>\s+key\s+•••/);
  await host.panel.allowButton.click();
  assert.equal((await host.late()).text, 'Done.');
  assert.deepEqual(resume(), [{ interruptId: 'a1', status: 'resolved', payload: { approved: true } }]);
  const types = (await host.events()).filter((event) => event.name === 'runtime-event').map((event) => event.type);
  assert.deepEqual(types.slice(0, 3), ['run_started', 'permission_requested', 'permission_resolved']);
});

test('steps that did not run bear no tick', async () => {
  const host = await asked([APPROVAL, { ...APPROVAL, id: 'a2', toolCallId: 'c2' }]);
  await until(async () => (await host.panel.question.count()) === 2, 'two approvals');
  await host.run(() => document.getElementById('agent').stop());
  const steps = host.panel.host.getByRole('button', { name: '2 steps' });
  assert.equal(await steps.locator('path').last().getAttribute('d'), 'M7 12h10');
});

test('stop closes an approval', async () => {
  const host = await asked([APPROVAL]);
  await host.panel.denyButton.waitFor();
  await host.run(() => document.getElementById('agent').stop());
  assert.equal((await host.late()).status, 'aborted');
  assert.equal(await host.panel.question.count(), 0);
  assert.equal(s.runtime.cancels.length, 1);
});

test('a questionnaire goes step by step, back too, and its answers go to the server', async () => {
  const host = await asked([QUESTIONS]);
  await button(host, 'Next').waitFor();
  const result = await host.late();
  assert.equal(result.status, 'finished');
  assert.equal(result.pendingQuestion.questionId, 'q1');
  assert.equal(await host.busy(), false);
  const { panel } = host;
  assert.match(await panel.question.innerText(), /Plan\s+Question 1 of 3\s+When\?[\s\S]*Recommended[\s\S]*Later <i>\s+In an hour/);
  // It has to be answered, and cannot be skipped.
  assert.equal(await button(host, 'Skip').count(), 0);
  await button(host, 'Next').click();
  await panel.shows('Please choose at least one.');
  await panel.question.getByRole('radio', { name: /Later/ }).check();
  await button(host, 'Next').click();
  await panel.shows('Question 2 of 3');
  await panel.question.getByRole('checkbox', { name: 'Ann' }).check();
  await panel.question.getByRole('checkbox', { name: 'Bob' }).check();
  await button(host, 'Back').click();
  assert.equal(await panel.question.getByRole('radio', { name: /Later/ }).isChecked(), true);
  await panel.question.getByRole('radio', { name: 'Something else' }).check();
  await panel.question.getByRole('textbox', { name: 'Something else' }).fill('Tomorrow');
  await button(host, 'Next').click();
  await button(host, 'Skip').click();
  await panel.shows('Question 3 of 3');
  await panel.question.getByRole('textbox', { name: 'Why?' }).fill('Because');
  await button(host, 'Send').click();
  await panel.reads('go', 'Done.');
  assert.deepEqual(resume(), [{
    interruptId: 'q1', status: 'resolved',
    payload: { answers: [{ stepId: 'when', otherText: 'Tomorrow' }, { stepId: 'who', skipped: true }, { stepId: 'why', otherText: 'Because' }] },
  }]);
  assert.equal(await panel.question.count(), 0);
});

test('by keyboard alone; the focus is not taken, and follows the steps', async () => {
  const host = await asked([QUESTIONS]);
  await button(host, 'Next').waitFor();
  const focused = () => host.run(() => {
    const active = document.getElementById('agent').shadowRoot.activeElement;
    return active && (active.getAttribute('part') ?? active.type);
  });
  assert.equal(await focused(), null, 'nothing took it');
  const { keyboard } = host.page;
  await host.panel.question.getByRole('radio', { name: /Now/ }).focus();
  await keyboard.press('Space');
  await keyboard.press('Enter');
  await host.panel.shows('Question 2 of 3');
  assert.equal(await focused(), 'question__text');
  await keyboard.press('Tab');
  await keyboard.press('Space');
  await keyboard.press('Escape');
  assert.equal(await host.panel.question.count(), 1, 'Escape is no word');
  await keyboard.press('Enter');
  await host.panel.shows('Question 3 of 3');
  await keyboard.press('Tab');
  await keyboard.type('Just so');
  await keyboard.press('Tab');
  await keyboard.press('Tab');
  await keyboard.press('Enter');
  await host.panel.reads('go', 'Done.');
  assert.deepEqual(resume()[0].payload.answers, [
    { stepId: 'when', selectedOptionIds: ['now'] }, { stepId: 'who', selectedOptionIds: ['a'] }, { stepId: 'why', otherText: 'Just so' },
  ]);
});

test('dismissed by its button, or by a message', async () => {
  const host = await asked([QUESTIONS]);
  await button(host, 'Dismiss').click();
  await host.panel.reads('go', 'Done.');
  assert.deepEqual(resume(), [{ interruptId: 'q1', status: 'cancelled' }]);
  asks(QUESTIONS);
  await host.start('again');
  await button(host, 'Next').waitFor();
  await host.late(1);
  s.runtime.onRun = (run) => run.start().say('Else.').finish();
  assert.equal((await host.send('something else')).text, 'Else.');
  assert.deepEqual(resume(), [{ interruptId: 'q1', status: 'cancelled' }]);
  assert.equal(await host.panel.question.count(), 0);
});

for (const [locale, theme] of [['en', 'light'], ['ar', 'dark']]) {
  test(`nothing for axe to find, ${locale} and ${theme}`, async () => {
    const elements = `<mindset-agent id="agent" agent-uid="support" locale="${locale}" theme="${theme}"></mindset-agent>`;
    const host = await asked([QUESTIONS], { elements });
    await host.panel.question.getByRole('radio').first().waitFor();
    await host.late();
    const small = await host.panel.question.locator('button, label').evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().height < 44).length);
    assert.equal(small, 0, 'large enough for fingers');
    assert.deepEqual(await axe(host), []);
  });
}

const stored = (interrupt) => ({
  messages: [{ id: 'u', role: 'user', content: 'go', runId: 'turn' }],
  openInterrupts: [interrupt],
  lastRun: { runId: 'run', turnId: 'turn', state: 'waiting', end: { type: 'RUN_FINISHED', threadId: 'c', runId: 'run', outcome: { type: 'interrupt', interrupts: [interrupt] } } },
});

test('both are there again after a reload', async () => {
  for (const interrupt of [APPROVAL, QUESTIONS]) {
    s.runtime.conversations.set('c', stored(interrupt));
    asks();
    const elements = '<mindset-agent id="agent" agent-uid="support" conversation-id="c"></mindset-agent>';
    const host = await s.open(s.runtime.page('/', html({ elements })));
    await host.panel.question.waitFor();
    const type = interrupt === APPROVAL ? 'permission_requested' : 'question_requested';
    await host.saw(`runtime-event:${type}`);
    assert.equal(await host.busy(), interrupt === APPROVAL);
    if (interrupt === APPROVAL) await host.panel.allowButton.click();
    else await button(host, 'Dismiss').click();
    await host.panel.reads('go', 'Done.');
  }
});

test('a page that draws nothing answers by its agent API', async () => {
  const elements = '<mindset-agent id="agent" agent-uid="support" headless approvals="ask"></mindset-agent>';
  const host = await asked([APPROVAL], { elements });
  const { detail } = await host.saw('runtime-event:permission_requested');
  assert.equal(s.runtime.runs[0].input.forwardedProps.mindset.answers, true);
  assert.deepEqual(await agent(host, 'reply', { requestId: 'no', decision: 'deny' }), { name: 'AgentError', code: 'request_not_found', disposition: 'reported' });
  assert.equal((await agent(host, 'reply', { requestId: detail.requestId, decision: 'always' })).code, 'invalid-request');
  assert.deepEqual(await agent(host, 'reply', { requestId: detail.requestId, decision: 'deny' }), { value: null });
  assert.equal((await host.late()).text, 'Done.');
  assert.equal((await agent(host, 'reply', { requestId: detail.requestId, decision: 'deny' })).code, 'request_not_found');

  asks(QUESTIONS);
  const { pendingQuestion, conversationId } = await host.send('more');
  assert.equal((await agent(host, 'answer', { sessionId: 'other', questionId: 'q1', answers: [] })).code, 'session_not_found');
  const { value } = await agent(host, 'answer', { sessionId: conversationId, requestId: pendingQuestion.requestId, answers: [{ stepId: 'when', selectedOptionIds: ['now'] }] });
  assert.deepEqual([value.status, value.text, value.sessionId], ['finished', 'Done.', conversationId]);
  assert.equal(await host.run(() => document.getElementById('agent').agent.capabilities.has('agent.answer')), true);
});

test('without approvals a headless page promises nothing', async () => {
  const elements = '<mindset-agent id="agent" agent-uid="support" headless></mindset-agent>';
  const host = await asked([APPROVAL], { elements });
  assert.equal((await host.late()).text, 'Done.');
  assert.equal('answers' in s.runtime.runs[0].input.forwardedProps.mindset, false);
  assert.deepEqual(resume(), [{ interruptId: 'a1', status: 'cancelled' }]);
});

test('the first answer wins: the second hears it, and its card is gone', async () => {
  const host = await asked([APPROVAL]);
  await host.panel.allowButton.waitFor();
  s.runtime.onRun = (run) => run.refuse(409, 'conflict', 'brings nothing new');
  const thread = s.runtime.runs[0].input.threadId;
  const turn = s.runtime.runs[0].input.runId;
  s.runtime.conversations.set(thread, {
    messages: [{ id: s.runtime.runs[0].input.messages[0].id, role: 'user', content: 'go', runId: turn }, { id: 'm', role: 'assistant', content: 'Paid elsewhere.', runId: 'next' }],
    lastRun: { runId: 'next', turnId: turn, state: 'finished', end: { type: 'RUN_FINISHED', threadId: thread, runId: 'next', outcome: { type: 'success' } } },
  });
  assert.equal((await agent(host, 'reply', { requestId: 'a1', decision: 'deny' })).code, 'request_not_found');
  assert.equal((await host.late()).text, 'Paid elsewhere.');
  assert.equal(await host.panel.question.count(), 0);
});

test('two tabs: what one answers closes the card of the other', async () => {
  const elements = '<mindset-agent id="agent" agent-uid="support" conversation-id="c"></mindset-agent>';
  s.runtime.conversations.set('c', stored(QUESTIONS));
  asks();
  const one = await s.open(s.runtime.page('/', html({ elements })));
  await one.panel.question.waitFor();
  const page = await one.profile.newPage();
  await page.goto(one.page.url());
  const two = new Panel(page);
  await two.question.waitFor();
  s.runtime.conversations.set('c', { messages: stored(QUESTIONS).messages });
  await button(one, 'Dismiss').click();
  await one.panel.reads('go', 'Done.');
  await until(async () => (await two.question.count()) === 0, 'the card of the other tab to go');
});

test('what another tab decides closes the card of a conversation that has just begun, and it is said', async () => {
  const host = await asked([APPROVAL]);
  await host.panel.allowButton.waitFor();
  const { threadId, runId, messages } = s.runtime.runs[0].input;
  const said = [{ id: messages[0].id, role: 'user', content: 'go', runId }];
  s.runtime.conversations.set(threadId, { ...stored(APPROVAL), messages: said });
  const elements = `<mindset-agent id="agent" agent-uid="support" conversation-id="${threadId}"></mindset-agent>`;
  const page = await host.profile.newPage();
  await page.goto(s.runtime.page('/other.html', html({ elements })));
  const other = new Panel(page);
  await other.allowButton.waitFor();
  s.runtime.conversations.set(threadId, {
    messages: [...said, { id: 'm', role: 'assistant', content: 'Done.', runId: 'next' }],
    lastRun: { runId: 'next', turnId: runId, state: 'finished', end: { type: 'RUN_FINISHED', threadId, runId: 'next', outcome: { type: 'success' } } },
  });
  await other.allowButton.click();
  await host.panel.reads('go', 'Done.');
  assert.equal(await host.panel.question.count(), 0);
  await host.panel.shows('Somebody else has decided this already.');
  assert.equal((await host.late()).text, 'Done.');
});

test('what was ticked and not sent stays over Back and a reload', async () => {
  const elements = '<mindset-agent id="agent" agent-uid="support" conversation-id="c"></mindset-agent>';
  s.runtime.conversations.set('c', stored(QUESTIONS));
  const host = await s.open(s.runtime.page('/', html({ elements })));
  const { panel } = host;
  await panel.question.getByRole('radio', { name: /Later/ }).check();
  await button(host, 'Next').click();
  await panel.question.getByRole('checkbox', { name: 'Ann' }).check();
  await button(host, 'Back').click();
  await button(host, 'Next').click();
  assert.equal(await panel.question.getByRole('checkbox', { name: 'Ann' }).isChecked(), true);
  await host.page.reload();
  await panel.shows('Question 2 of 3');
  assert.equal(await panel.question.getByRole('checkbox', { name: 'Ann' }).isChecked(), true);
  await button(host, 'Back').click();
  assert.equal(await panel.question.getByRole('radio', { name: /Later/ }).isChecked(), true);
});

test('arguments show what cannot be seen', async () => {
  const toolInput = { to: 'Ann\u202Ecod.exe', note: 'a\u200Bb' };
  const host = await asked([{ ...APPROVAL, metadata: { mindset: { ...APPROVAL.metadata.mindset, toolInput } } }]);
  await host.panel.allowButton.waitFor();
  assert.match(await host.panel.question.innerText(), /Ann\\u\{202E\}cod\.exe[\s\S]*a\\u\{200B\}b/);
});

test('a message beside an approval waits for the end of its turn', async () => {
  const host = await asked([APPROVAL]);
  await host.panel.allowButton.waitFor();
  await host.panel.say('And then?');
  await host.panel.host.locator('[part~="queue__item"][data-state=queued]').waitFor();
  assert.equal(await host.panel.question.count(), 1);
  s.runtime.onRun = (run) => run.start().say(run.input.resume ? 'Done.' : 'Then that.').finish();
  await host.panel.allowButton.click();
  await host.panel.reads('go', 'Done.', 'And then?', 'Then that.');
});

test('appendMessage shows the text; the person changes it, takes it or drops it', async () => {
  const host = await s.ready();
  const offer = (text) => host.run((text) => { (window.offered ??= []).push(document.getElementById('agent').appendMessage(text)); }, text);
  const dialog = host.panel.host.getByRole('dialog');
  const draft = () => host.run(() => document.getElementById('agent').shadowRoot.querySelector('textarea[part=composer__input]').value);
  await offer('Rows 3 <b>');
  await dialog.waitFor();
  assert.deepEqual(await axe(host), []);
  const box = dialog.getByRole('textbox');
  assert.equal(await box.inputValue(), 'Rows 3 <b>');
  await box.fill('Rows 4');
  await dialog.getByRole('button', { name: 'Add' }).click();
  assert.equal(await host.run(() => window.offered[0]), true);
  assert.equal(await draft(), 'Rows 4');
  assert.equal(s.runtime.runs.length, 0, 'nothing is sent');
  await offer('more');
  await dialog.getByRole('button', { name: 'Add' }).click();
  assert.equal(await draft(), 'Rows 4\nmore');
  await offer('dropped');
  await dialog.waitFor();
  await host.page.keyboard.press('Escape');
  assert.equal(await host.run(() => window.offered[2]), false);
  assert.equal(await draft(), 'Rows 4\nmore');
  assert.equal(await host.run(() => document.getElementById('agent').appendMessage(' ')), false);
  assert.equal((await host.error()).code, 'invalid-request');
});

test('appendMessage without a panel', async () => {
  const host = await s.ready({ elements: '<mindset-agent id="agent" agent-uid="support" headless></mindset-agent>' });
  assert.equal(await host.run(() => document.getElementById('agent').appendMessage('text')), false);
  assert.equal((await host.error()).code, 'not-ready');
});
