// The panel before the module is there: what a person writes and sends in it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { works } from '../support/expect.mjs';
import { ELEMENT, html, TIMING } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { deferred, until } from '../support/wait.mjs';

const s = suite();
const TWO = '<mindset-agent id="agent" agent-uid="support"></mindset-agent><mindset-agent id="other" agent-uid="sales"></mindset-agent>';

/** A page whose module waits until `release` is called, with an answer instead of it or without. */
async function held(options = {}) {
  const gate = deferred();
  s.runtime.onWasm = () => gate.promise;
  const host = await s.open(s.runtime.page('/', html(options), options.headers));
  if (options.elements === undefined) await host.panel.input.waitFor();
  return { host, release: (answer) => gate.resolve(answer) };
}

const value = (host, id = 'agent') => host.panel.of(id).input.inputValue();
const texts = () => s.runtime.runs.map((run) => run.text);

test('what is typed and sent before the module is there goes out once, when it is', async () => {
  const { host, release } = await held();
  await host.panel.say('early bird');
  await host.panel.reads('early bird');
  assert.equal(await value(host), '');
  assert.equal(await host.busy(), true);
  await host.page.keyboard.type('and then');
  assert.deepEqual(await host.names(), [], 'nothing is told yet');
  release();
  await host.panel.reads('early bird', 'You said: early bird.');
  assert.deepEqual(texts(), ['early bird']);
  assert.equal(await value(host), 'and then', 'the next draft stays');
  assert.equal(await host.run(() => document.activeElement.id), 'agent', 'and the focus');
  await host.saw('agent-idle');
  const names = await host.names();
  assert.deepEqual(names.slice(0, 3), ['agent-registered', 'agent-initializing', 'agent-busy']);
  assert.equal(names.filter((name) => name === 'agent-busy').length, 1);
  assert.deepEqual(await host.errors(), []);
});

test('one message waits: a second one stays a draft, and the page hears busy', async () => {
  const { host, release } = await held();
  await host.panel.say('one');
  await host.panel.say('two');
  assert.equal(await value(host), 'two');
  assert.equal(await host.run(() => {
    try {
      document.getElementById('agent').sendMessage('three');
    } catch (error) {
      return error.code;
    }
  }), 'busy');
  release();
  await host.panel.reads('one', 'You said: one.');
  assert.deepEqual([texts(), await value(host)], [['one'], 'two']);
});

test('the Enter of an input method sends nothing, blank text neither', async () => {
  const { host, release } = await held();
  await host.panel.input.fill('日本語');
  await host.panel.input.evaluate((input) => input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, composed: true, cancelable: true })));
  assert.equal(await value(host), '日本語');
  release();
  await host.saw('agent-idle');
  assert.equal(await value(host), '日本語');
  await host.panel.input.fill('   ');
  await host.page.keyboard.press('Enter');
  assert.deepEqual(texts(), []);
});

test('stop() of the page gives the message back', async () => {
  const { host, release } = await held();
  await host.panel.say('not yet');
  await host.run(() => document.getElementById('agent').stop());
  await until(async () => (await value(host)) === 'not yet', 'the draft');
  assert.deepEqual(await host.panel.texts(), []);
  release();
  await host.saw('agent-idle');
  assert.deepEqual([texts(), await value(host)], [[], 'not yet']);
});

test('a module that does not come: the sentence, what was written, and a draft of it later', async () => {
  const { host, release } = await held({ headers: { 'content-security-policy': null } });
  await host.panel.say('important');
  await host.page.keyboard.type('more of it');
  release({ status: 503, type: 'text/plain', body: 'not yet' });
  assert.equal((await host.error()).code, 'wasm-load');
  await host.panel.shows('The assistant could not be loaded. Please try again later.');
  await host.panel.shows('important');
  assert.equal(await host.busy(), false);
  s.runtime.onWasm = () => undefined;
  const list = await host.run(() => document.getElementById('agent').conversations());
  assert.deepEqual(list, []);
  assert.equal(await value(host), 'important\nmore of it');
  assert.deepEqual(texts(), [], 'it is sent by the person alone');
  assert.equal((await host.names()).filter((name) => name === 'error').length, 1);
  assert.deepEqual(await host.errors(), []);
});

test('moved and taken out for a while before the module comes', async () => {
  const { host, release } = await held();
  await host.panel.say('on the move');
  await host.page.keyboard.type('draft');
  await host.run(() => {
    const element = document.getElementById('agent');
    document.body.append(document.createElement('div'));
    document.body.lastChild.append(element);
    window.focused = element.shadowRoot.activeElement?.localName;
    element.remove();
    return new Promise((resolve) => setTimeout(() => { document.body.append(element); resolve(); }, 50));
  });
  assert.equal(await host.run(() => window.focused), 'textarea', 'the focus moves along');
  await host.panel.reads('on the move');
  assert.equal(await value(host), 'draft');
  release();
  await host.panel.reads('on the move', 'You said: on the move.');
  assert.deepEqual([texts(), await value(host)], [['on the move'], 'draft']);
  assert.equal(await host.run(() => document.getElementById('agent').shadowRoot.querySelectorAll('.panel').length), 1);
});

test('two elements keep what is theirs', async () => {
  const { host, release } = await held({ elements: TWO });
  await host.panel.say('to support');
  await host.panel.of('other').say('to sales');
  release();
  await host.panel.reads('to support', 'You said: to support.');
  await host.panel.of('other').reads('to sales', 'You said: to sales.');
  assert.deepEqual(texts().sort(), ['to sales', 'to support']);
});

test('attributes and words that change before the module comes', async () => {
  const { host, release } = await held({ init: { locale: 'de' } });
  await host.panel.host.getByPlaceholder(/Nachricht/).waitFor();
  await host.panel.say('eins');
  await host.page.keyboard.type('zwei');
  await host.run(() => Object.assign(document.getElementById('agent'), { heading: 'Bank', locale: 'fr' }));
  await host.panel.shows('Bank');
  await until(() => host.run(() => document.getElementById('agent').shadowRoot.querySelector('.panel')?.lang === 'fr'), 'French');
  await host.panel.reads('eins');
  assert.equal(await value(host), 'zwei');
  await host.run(() => { document.getElementById('agent').headless = true; });
  await host.panel.input.waitFor({ state: 'detached' });
  await host.run(() => { document.getElementById('agent').headless = false; });
  await host.panel.reads('eins');
  release();
  await host.panel.reads('eins', 'You said: eins.');
  assert.deepEqual([texts(), await value(host)], [['eins'], 'zwei']);
});

test('nobody takes the focus, and a closed composer is none before the module says why', async () => {
  const { host, release } = await held({ elements: ELEMENT.replace('>', ' disabled="We are closed.">') });
  release();
  await host.saw('agent-idle');
  await host.panel.shows('We are closed.');
  assert.equal(await host.run(() => document.activeElement === document.body), true);
});

/** A page whose module is there and is not started before `go()`. */
async function compiled(options = {}) {
  const before = (page) => page.addInitScript(() => {
    const { instantiate } = WebAssembly;
    window.started = new Promise((resolve) => (window.go = resolve));
    WebAssembly.instantiate = async (...given) => (await window.started, instantiate(...given));
  });
  const host = await s.open(s.runtime.page('/', html(options)), { before });
  await host.panel.input.waitFor();
  return { host, go: () => host.run(() => window.go()) };
}

test('a first message goes out while the module starts, as the session would have sent it', async () => {
  const { host, go } = await compiled();
  await host.panel.say('at once \u{1F642} "quoted"');
  const { input, headers } = await s.runtime.nextRun();
  assert.deepEqual(await host.names(), [], 'nothing is told yet');
  await go();
  await host.saw('agent-idle');
  await host.panel.say('and again');
  await host.panel.reads('at once \u{1F642} "quoted"', 'You said: at once \u{1F642} "quoted".', 'and again', 'You said: and again.');
  const [, second, ...rest] = s.runtime.runs;
  assert.deepEqual(rest, [], 'it went out once');
  const { id } = input.messages[0];
  assert.equal(await host.run((id) => Boolean(document.getElementById('agent').shadowRoot.querySelector(`[data-message-id="${id}"]`)), id), true);
  const { runId } = input;
  const same = { ...second.input, runId, messages: [{ ...second.input.messages[0], id, content: input.messages[0].content }] };
  assert.equal(JSON.stringify(input), JSON.stringify(same));
  const names = ['authorization', 'content-type', 'accept'];
  assert.deepEqual(names.map((name) => headers[name]), names.map((name) => second.headers[name]));
  assert.equal((await host.names()).filter((name) => name === 'agent-busy').length, 2);
  assert.deepEqual(await host.errors(), []);
});

test('stop() gives back a message that is out already, and its run is stopped', async () => {
  s.runtime.onRun = (run) => run.start();
  const { host, go } = await compiled();
  await host.panel.say('too soon');
  const { input } = await s.runtime.nextRun();
  await host.run(() => document.getElementById('agent').stop());
  await until(() => s.runtime.cancels.length, 'the cancel');
  assert.deepEqual(s.runtime.cancels, [input.runId]);
  await until(async () => (await value(host)) === 'too soon', 'the draft');
  await go();
  await host.saw('agent-idle');
  assert.deepEqual([texts(), await host.panel.texts(), await host.busy()], [['too soon'], [], false]);
  await works(s.runtime, host);
  assert.notEqual(s.runtime.runs[1].input.runId, input.runId);
});

test('what the page has set goes along, and the conversation of before is gone on with', async () => {
  const { host, go } = await compiled();
  await host.run(() => document.getElementById('agent').setSituationalAwareness({ page: 'cart' }));
  await host.panel.say('with it');
  await go();
  await host.panel.reads('with it', 'You said: with it.');
  assert.equal(s.runtime.runs[0].input.context[0].value, '{"page":"cart"}');
  const { threadId, messages } = s.runtime.runs[0].input;
  s.runtime.conversations.set(threadId, { messages, openCalls: [] });
  await host.page.reload();
  await host.panel.say('more');
  await go();
  await until(() => s.runtime.runs.length === 2, 'the second run');
  await host.saw('agent-idle');
  assert.deepEqual(texts(), ['with it', 'more']);
  assert.equal(s.runtime.runs[1].input.threadId, threadId);
});

test('the sign-in does not wait for the module, and there is one', async () => {
  const { host, release } = await held();
  await until(() => s.runtime.signIns.length, 'the sign-in');
  release();
  await host.saw('agent-idle');
  assert.equal((await host.send('hello')).text, 'You said: hello.');
  assert.equal(s.runtime.signIns.length, 1);
  await host.page.reload();
  await host.saw('agent-idle');
  assert.deepEqual([s.runtime.signIns.length, s.runtime.signIns[1].anonymousKey], [2, 'key-1'], 'the same person');
});

test('a sign-in that fails before the module is there is told by it, and tried again', async () => {
  let refuse = true;
  const { onSignIn } = s.runtime;
  s.runtime.onSignIn = (...given) => (refuse ? { refuse: [503, 'server-error', 'Not yet: try again.', true] } : onSignIn(...given));
  const { host, release } = await held();
  await until(() => s.runtime.signIns.length, 'the sign-in');
  refuse = false;
  release();
  assert.equal((await host.error()).code, 'server-error');
  await host.saw('agent-idle');
  assert.equal(s.runtime.signIns.length, 2);
  assert.deepEqual(await host.errors(), []);
});

test('where the page hands out tokens nobody signs in', async () => {
  const { host, release } = await held({
    init: null,
    foot: `<script>mindset.init({ appUid: 'acme', timing: ${JSON.stringify(TIMING)}, fetchAuthentication: async () => 'page-1' })</script>`,
  });
  release();
  await host.saw('agent-idle');
  assert.deepEqual(s.runtime.signIns, []);
});
