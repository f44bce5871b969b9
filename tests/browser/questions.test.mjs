// The person is asked before a tool runs: in the panel, by keyboard and screen reader,
// and denied where nobody can be asked.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';

const s = suite();

/** A page whose tool `pay` asks first, in mid-question. `confirm` is JavaScript. */
async function asked(confirm = 'true', options = {}) {
  const host = await s.ready(options);
  await host.run((confirm) => {
    document.getElementById('agent').setPageTools([{
      name: 'pay', description: 'Pays', runningDescription: 'Paying…', completedDescription: 'Paid', confirm: (0, eval)(`(${confirm})`),
      parameters: { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' }, account: { type: 'string' } } },
      handler: (args) => { (window.ran ??= []).push(args); return 'paid'; },
    }]);
    document.getElementById('agent').setPassthroughParams({ 'pay.account': 'SECRET-ACCOUNT' });
  }, confirm);
  s.runtime.asksFor([['pay', { amount: 5, to: 'Ann <b>' }, 'call-1']]);
  await host.start('pay Ann');
  return host;
}

const ran = (host) => host.run(() => window.ran ?? []);

test('Allow runs the tool, once, with everything', async () => {
  const host = await asked('"Pay 5 to Ann?"');
  await host.panel.allowButton.waitFor();
  assert.deepEqual(await ran(host), [], 'nothing runs before the word');
  assert.equal(await host.busy(), true);
  await host.panel.shows('Waiting for you…');
  assert.match(await host.panel.question.innerText(), /Pay 5 to Ann\?\s+amount\s+5\s+to\s+Ann <b>\s+account\s+•••/);
  await host.panel.allowButton.click();
  assert.equal((await host.late()).text, 'Done.');
  assert.deepEqual(await ran(host), [{ amount: 5, to: 'Ann <b>', account: 'SECRET-ACCOUNT' }]);
  assert.equal(s.runtime.results[0].content, '"paid"');
  assert.equal(await host.panel.question.count(), 0);
  assert.deepEqual(await host.panel.calls(), ['Done: Paid']);
  const types = (await host.events()).filter((e) => e.name === 'runtime-event').map((e) => e.type);
  const order = types.filter((type) => /permission|tool_/.test(type) && type !== 'tool_announce');
  assert.deepEqual(order, ['permission_requested', 'permission_resolved', 'tool_start', 'tool_end']);
  const { detail } = await host.saw('runtime-event:permission_requested');
  assert.deepEqual(detail.toolInput, { amount: 5, to: 'Ann <b>', account: '•••' });
  assert.equal(detail.reason, 'Pay 5 to Ann?');
});

test('Deny runs nothing, and the model is told so (B16)', async () => {
  const host = await asked();
  await host.panel.denyButton.click();
  assert.equal((await host.late()).status, 'finished');
  assert.deepEqual(await ran(host), []);
  assert.match(s.runtime.results[0].content, /did not allow/);
  assert.ok(s.runtime.results[0].error);
  assert.deepEqual(await host.panel.calls(), ['Stopped: Paying…']);
});

test('stop() while it waits: an error, the handler not run, the card gone (B16)', async () => {
  const host = await asked();
  await host.panel.allowButton.waitFor();
  await host.run(() => document.getElementById('agent').stop());
  assert.equal((await host.late()).status, 'aborted');
  assert.deepEqual(await ran(host), []);
  assert.equal(await host.panel.question.count(), 0);
  s.runtime.onRun = (run) => run.start().say('Fine.').finish();
  assert.equal((await host.send('next')).text, 'Fine.');
});

test('the function says what is asked, of the call itself', async () => {
  const host = await asked('async (args) => `Really pay ${args.amount} to ${args.to} from ${args.account}?`');
  await host.panel.shows('Really pay 5 to Ann <b> from SECRET-ACCOUNT?');
  await host.panel.allowButton.click();
  await host.late();
  assert.equal((await ran(host)).length, 1);
});

for (const [what, confirm, expected] of [
  ['throws', '() => { throw new Error("no words"); }', /no words/],
  ['gives nothing', '() => {}', /must give a text; it gave undefined/],
  ['rejects', '() => Promise.reject("nope")', /nope/],
]) {
  test(`a confirm function that ${what}: not run, told to the model`, async () => {
    const host = await asked(confirm);
    assert.equal((await host.late()).status, 'finished');
    assert.deepEqual(await ran(host), []);
    assert.match(s.runtime.results[0].content, expected);
  });
}

test('without a panel nobody can be asked: denied at once', async () => {
  const host = await asked('true', { elements: '<mindset-agent id="agent" agent-uid="support" headless></mindset-agent>' });
  assert.equal((await host.late()).status, 'finished');
  assert.deepEqual(await ran(host), []);
  assert.match(s.runtime.results[0].content, /nobody could be asked/);
});

test('a panel that is taken away takes the question with it; one that comes is asked again', async () => {
  const host = await asked();
  await host.panel.allowButton.waitFor();
  await host.run(() => { document.getElementById('agent').headless = true; });
  assert.equal((await host.late()).status, 'finished');
  assert.match(s.runtime.results[0].content, /nobody could be asked/);
  await host.run(() => { document.getElementById('agent').headless = false; });
  s.runtime.asksFor([['pay', {}, 'call-2']]);
  await host.start('again');
  await host.panel.allowButton.click();
  await host.late(1);
  assert.equal((await ran(host)).length, 1);
  assert.deepEqual(await host.panel.calls(), ['Stopped: Paying…', 'Done: Paid']);
});

test('the question is announced, takes no focus, and works with the keyboard', async () => {
  const host = await s.ready();
  await host.panel.input.click();
  await host.page.keyboard.type('a draft');
  await host.run(() => document.getElementById('agent').setPageTools([
    { name: 'pay', description: 'd', confirm: 'Pay now?', handler: () => { window.ran = true; return 1; } },
  ]));
  s.runtime.asksFor([['pay']]);
  await host.start('go');
  const alert = host.panel.host.getByRole('alert');
  await alert.waitFor();
  assert.equal(await alert.innerText(), 'Pay now?');
  await host.panel.host.getByRole('group', { name: 'Pay now?' }).waitFor();
  const focused = () => host.run(() => document.getElementById('agent').shadowRoot.activeElement?.textContent || document.getElementById('agent').shadowRoot.activeElement?.tagName);
  assert.equal(await focused(), 'TEXTAREA');
  await host.page.keyboard.type(' goes on');
  assert.equal(await host.panel.input.inputValue(), 'a draft goes on');
  await host.page.keyboard.press('Shift+Tab');
  assert.equal(await focused(), 'Allow');
  await host.page.keyboard.press('Shift+Tab');
  assert.equal(await focused(), 'Deny');
  // Escape on the card is no word of ours.
  await host.page.keyboard.press('Escape');
  assert.equal(await host.panel.question.count(), 1);
  assert.equal(await host.busy(), true);
  await host.page.keyboard.press('Tab');
  await host.page.keyboard.press('Enter');
  assert.equal((await host.late()).status, 'finished');
  assert.equal(await host.run(() => window.ran), true);
  assert.equal(await focused(), 'TEXTAREA', 'the focus of a button that went is back in the text box');
});

test('several questions stand side by side, each with its own word', async () => {
  const host = await s.ready();
  await host.run(() => document.getElementById('agent').setPageTools(['a', 'b'].map((name) => (
    { name, description: 'd', confirm: `Do ${name}?`, handler: () => name }))));
  s.runtime.asksFor([['a', {}, '1'], ['b', {}, '2']]);
  await host.start('go');
  await host.panel.host.getByRole('group', { name: 'Do b?' }).getByRole('button', { name: 'Allow' }).click();
  await host.saw('tool-end');
  assert.equal(await host.busy(), true);
  await host.panel.host.getByRole('group', { name: 'Do a?' }).getByRole('button', { name: 'Deny' }).click();
  await host.late();
  assert.deepEqual(s.runtime.results.map((result) => [result.toolCallId, /allow/.test(result.content) ? 'denied' : result.content]), [['1', 'denied'], ['2', '"b"']]);
});

test('a double click on Allow runs once', async () => {
  const host = await asked();
  await host.panel.allowButton.dblclick({ delay: 0 });
  await host.late();
  assert.equal((await ran(host)).length, 1);
});

test('the question waits as long as it takes: the time of the handler begins after it', async () => {
  const host = await s.open(s.runtime.page('/', html()));
  await host.saw('agent-idle');
  await host.run(() => document.getElementById('agent').setPageTools([
    { name: 'it', description: 'd', confirm: true, timeoutMs: 300, handler: () => new Promise((done) => setTimeout(done, 50, 'in time')) },
  ]));
  s.runtime.asksFor([['it']]);
  await host.start('go');
  await host.panel.allowButton.waitFor();
  await new Promise((done) => setTimeout(done, 600));
  await host.panel.allowButton.click();
  await host.late();
  assert.equal(s.runtime.results[0].content, '"in time"');
});
