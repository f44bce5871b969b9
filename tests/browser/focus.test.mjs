// The focus belongs to the person: the element takes it never by itself, fights with no dialog,
// and loses it nowhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ELEMENT, html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';

const s = suite();
const focused = (host) => host.run(() => document.activeElement?.id);
const inside = (host) => host.run(() => document.getElementById('agent').shadowRoot.activeElement?.localName);

/** Everything that happens to a chat by itself: an answer, a failure, a question, a move, new attributes. */
async function everything(host) {
  await host.send('hello');
  s.runtime.onRun = (run) => { run.start().say('Half'); run.end(); };
  await host.send('fail');
  await host.run(() => document.getElementById('agent').setPageTools([{ name: 'pay', description: 'd', confirm: 'Pay?', handler: () => 1 }]));
  s.runtime.asksFor([['pay']]);
  await host.start('ask');
  await host.panel.question.waitFor({ state: 'attached' });
  await host.run(() => document.querySelector('main').prepend(document.getElementById('agent')));
  await host.run(() => document.getElementById('agent').stop());
  await host.run(() => {
    const agent = document.getElementById('agent');
    agent.disabled = true;
    agent.disabled = false;
    agent.headless = true;
    agent.headless = false;
  });
  await host.panel.input.waitFor({ state: 'attached' });
  await host.run(() => document.getElementById('agent').newConversation());
}

test('nothing that happens by itself takes the focus, from the start on', async () => {
  const host = await s.open(s.runtime.page('/', html({ elements: `<label>Elsewhere <input id="elsewhere"></label>${ELEMENT}`, foot: `<script>
    document.getElementById('elsewhere').focus();
    window.taken = [];
    document.addEventListener('focusin', (event) => window.taken.push(event.target.id));
  </script>` })));
  await host.saw('agent-idle');
  await everything(host);
  assert.equal(await focused(host), 'elsewhere');
  assert.deepEqual(await host.run(() => window.taken), []);
});

test('a modal dialog of the page keeps the focus, also if the text box had it before', async () => {
  const host = await s.ready({ elements: `${ELEMENT}<dialog id="modal"><button id="ok">OK</button></dialog>` });
  await host.panel.input.focus();
  await host.run(() => document.getElementById('modal').showModal());
  assert.equal(await focused(host), 'ok');
  await everything(host);
  assert.equal(await focused(host), 'ok');
});

test('behind inert nothing takes the focus, and afterwards it works again', async () => {
  const host = await s.ready({ elements: `<label>Elsewhere <input id="elsewhere"></label><div id="rest">${ELEMENT}</div>` });
  await host.panel.input.focus();
  await host.run(() => { document.getElementById('rest').inert = true; });
  await host.page.locator('#elsewhere').focus();
  await host.send('hello');
  await host.run(() => document.getElementById('rest').append(document.getElementById('agent')));
  assert.equal(await focused(host), 'elsewhere');
  await host.run(() => { document.getElementById('rest').inert = false; });
  await host.panel.say('again');
  await host.panel.shows('You said: again.');
});

test('in a dialog of the page Escape stops the turn first, then closes the dialog', async () => {
  const host = await s.ready({ elements: `<dialog id="modal">${ELEMENT}</dialog>` });
  await host.run(() => document.getElementById('modal').showModal());
  s.runtime.hold();
  await host.panel.say('hello');
  (await s.runtime.nextRun()).start().say('Working');
  await host.panel.shows('Working');
  const open = () => host.run(() => document.getElementById('modal').open);
  await host.page.keyboard.press('Escape');
  await host.saw('agent-idle', 2);
  assert.equal(await open(), true);
  await host.page.keyboard.press('Escape');
  assert.equal(await open(), false);
});

test("a focus trap of the page hears Tab and can lead the focus round", async () => {
  const host = await s.ready({ elements: `<div id="trap"><button id="first">First</button>${ELEMENT}</div>`, foot: `<script>
    document.getElementById('trap').addEventListener('keydown', (event) => {
      if (event.key !== 'Tab' || event.shiftKey || event.target.id !== 'agent') return;
      if (event.composedPath()[0].localName !== 'textarea') return;
      event.preventDefault();
      document.getElementById('first').focus();
    });
  </script>` });
  await host.panel.input.focus();
  await host.page.keyboard.press('Tab');
  assert.equal(await focused(host), 'first');
});

test('who presses a button that goes away stands in the text box, on a touch screen in the transcript', async () => {
  for (const [hasTouch, place] of [[false, 'textarea'], [true, 'div']]) {
    const host = await s.ready({ context: { hasTouch, isMobile: hasTouch } });
    s.runtime.onRun = (run) => { run.start().say('Half'); run.end(); };
    await host.send('hello');
    s.runtime.onRun = (run) => run.start().say('Whole.').finish();
    await host.panel.retryButton.focus();
    await host.page.keyboard.press('Enter');
    await host.panel.shows('Whole.');
    assert.equal(await inside(host), place);
  }
});

test('a drawer or menu in the panel that takes Escape for itself stops nothing', async () => {
  const host = await s.ready();
  s.runtime.hold();
  await host.panel.say('hello');
  (await s.runtime.nextRun()).start().say('Working');
  await host.panel.shows('Working');
  await host.run(() => {
    const menu = document.createElement('button');
    menu.id = 'menu';
    menu.addEventListener('keydown', (event) => event.key === 'Escape' && event.preventDefault());
    document.getElementById('agent').shadowRoot.querySelector('[part~="panel"]').prepend(menu);
    menu.focus();
  });
  await host.page.keyboard.press('Escape');
  assert.equal(await host.busy(), true);
  await host.panel.input.focus();
  await host.page.keyboard.press('Escape');
  await host.saw('agent-idle', 2);
});
