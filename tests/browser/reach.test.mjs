// The panel for fingers, keyboards, large text and small screens.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { STATES } from '../support/states.mjs';
import { suite } from '../support/suite.mjs';

const s = suite();

test('at twice the text size the question is whole and its buttons are in reach', async () => {
  const host = await s.ready({ context: { viewport: { width: 500, height: 360 } }, head: '<style>mindset-agent { --mindset-font-size: 30px }</style>' });
  await STATES.question.reach(host, s.runtime);
  await host.panel.allowButton.scrollIntoViewIfNeeded();
  const overflow = await host.panel.log.evaluate((log) => log.scrollWidth - log.clientWidth);
  assert.ok(overflow <= 0, `the transcript scrolls sideways by ${overflow} px`);
  await host.panel.allowButton.click();
  assert.equal((await host.late()).status, 'finished');
});

test("the panel adds no heading to the page's outline, and one landmark by its name", async () => {
  const host = await s.ready();
  await STATES.conversation.reach(host, s.runtime);
  assert.equal(await host.panel.host.getByRole('heading').count(), 0);
  assert.equal(await host.panel.host.getByRole('banner').count(), 0);
  assert.equal(await host.page.getByRole('region', { name: 'Assistant' }).count(), 1);
});

test('everything that takes a word or a press has a name, and is large enough to hit', async () => {
  for (const [hasTouch, least] of [[false, 24], [true, 44]]) {
    for (const state of ['question', 'error', 'new messages', 'sources', 'queue, changing']) {
      const host = await s.ready({ context: { hasTouch, isMobile: hasTouch, viewport: { width: 360, height: 640 } }, head: '<meta name="viewport" content="width=device-width">' });
      await STATES[state].reach(host, s.runtime);
      const parts = await host.run(() => [...document.getElementById('agent').shadowRoot.querySelectorAll('button, a, textarea, input, [tabindex="0"]')]
        .filter((part) => part.checkVisibility())
        .map((part) => {
          const { width, height } = part.getBoundingClientRect();
          return { name: part.ariaLabel || part.textContent.trim(), width, height, tag: part.outerHTML.slice(0, 80) };
        }));
      for (const { name, width, height, tag } of parts) {
        assert.ok(name, tag);
        assert.ok(width >= least && height >= least, `${state}: ${tag} is ${width} by ${height}`);
      }
    }
  }
});

test('with text of twice the size nothing is out of reach in the drawer, and what is too long is seen', async () => {
  const head = '<style>h1 { display: none } mindset-agent { --mindset-font-size: 30px; height: 640px }</style>';
  const options = { context: { viewport: { width: 320, height: 640 } }, head };
  const drawer = await s.ready(options);
  await STATES.settings.reach(drawer, s.runtime);
  const cut = await drawer.panel.host.locator('[part=panel]').evaluate((panel) => panel.scrollHeight - panel.clientHeight);
  assert.ok(cut <= 1, `${cut} px are out of reach`);
  const long = await s.ready(options);
  await STATES['too long'].reach(long, s.runtime);
  const width = await long.panel.input.evaluate((input) => input.clientWidth);
  assert.ok(width >= 100, `the text box is ${width} px wide`);
});

test('under a finger the words of a check box are as large as a button', async () => {
  const host = await s.ready({ context: { hasTouch: true, isMobile: true, viewport: { width: 360, height: 640 } }, head: '<meta name="viewport" content="width=device-width">' });
  await STATES.forms.reach(host, s.runtime);
  const heights = await host.panel.log.getByRole('checkbox').evaluateAll((all) => all.map((box) => box.labels[0].offsetHeight));
  assert.ok(heights.length && heights.every((height) => height >= 44), `${heights}`);
});

for (const [name, options] of Object.entries({
  'at 320 by 256 pixels, as at 400 % zoom': { context: { viewport: { width: 320, height: 256 } }, head: '<style>h1 { display: none } mindset-agent { height: 256px }</style>' },
  'with text of twice the size': { context: { viewport: { width: 320, height: 640 } }, head: '<style>h1 { display: none } mindset-agent { --mindset-font-size: 30px; height: 640px }</style>' },
})) {
  test(`${name} everything is in reach and nothing scrolls sideways`, async () => {
    for (const state of ['conversation', 'question', 'error', 'sources']) {
      const host = await s.ready(options);
      await STATES[state].reach(host, s.runtime);
      const wide = await host.run(() => {
        const root = document.getElementById('agent').shadowRoot;
        return [document.documentElement, root.querySelector('[role=log]')].map((box) => box.scrollWidth - box.clientWidth);
      });
      assert.deepEqual(wide.map((by) => by > 0), [false, false], `${state}: ${wide}`);
      for (const control of [host.panel.input, host.panel.sendButton.or(host.panel.stopButton)]) {
        const { x, y, width, height } = await control.boundingBox();
        const { width: w, height: h } = host.page.viewportSize();
        assert.ok(x >= 0 && y >= 0 && x + width <= w && y + height <= h, `${state}: cut off`);
      }
      assert.ok(await host.panel.log.evaluate((log) => log.clientHeight) >= 60, `${state}: no room to read`);
    }
  });
}

test('where the focus is can be seen, on everything that takes it', async () => {
  for (const state of ['question', 'error', 'sources', 'new messages']) {
    const host = await s.ready();
    await STATES[state].reach(host, s.runtime);
    await host.run(() => document.activeElement?.blur());
    const seen = [];
    for (;;) {
      await host.page.keyboard.press('Tab');
      // Nobody presses again within a frame: at the end of the view the button that leads there goes.
      await host.run(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))));
      const part = await host.run(() => {
        const { activeElement } = document.getElementById('agent').shadowRoot;
        if (!activeElement) return null;
        const ring = activeElement.closest('.composer') && activeElement.localName === 'textarea' ? activeElement.closest('.composer') : activeElement;
        const { outlineStyle, boxShadow } = getComputedStyle(ring);
        // Rows have buttons of the same name.
        const parts = (window.focused ??= []);
        if (!parts.includes(activeElement)) parts.push(activeElement);
        return { name: activeElement.ariaLabel || activeElement.textContent, at: parts.indexOf(activeElement), ring: outlineStyle !== 'none' || boxShadow !== 'none' };
      });
      if (!part || part.at < seen.length) break;
      seen.push(part.name);
      assert.ok(part.ring, part.name);
    }
    assert.ok(seen.length >= 2, seen.join());
    assert.ok(seen.indexOf('Conversation') < seen.indexOf('Write a message'), `from top to bottom: ${seen}`);
  }
});

test('more contrast where it is wanted', async () => {
  const host = await s.ready({ context: { contrast: 'more' } });
  const [text, muted] = await host.run(() => ['.hello', '.hint'].map((part) => getComputedStyle(document.getElementById('agent').shadowRoot.querySelector(part)).color));
  assert.equal(muted, text);
});
