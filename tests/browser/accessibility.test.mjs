// The panel for everyone: axe on every state, light and dark, small screens,
// announcements; pictures for people in target/screenshots.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

import { SCREENSHOTS } from '../support/paths.mjs';
import { SOURCES, STATES } from '../support/states.mjs';
import { suite } from '../support/suite.mjs';

const s = suite();
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

mkdirSync(SCREENSHOTS, { recursive: true });

const SCREENS = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  phone: { colorScheme: 'light', viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true },
};

/** Rules an element cannot answer for: they are about the page around it. */
const PAGE_RULES = ['region', 'landmark-one-main', 'page-has-heading-one'];

/** What fades in is measured when it stands. */
const settled = () => Promise.all(
  document.getElementById('agent').shadowRoot.getAnimations()
    .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
    .map((animation) => animation.finished.catch(() => {})),
);

async function axe(host) {
  // Not as a tag: the page's policy takes scripts of its own server only.
  await host.page.evaluate(readFileSync(AXE, 'utf8'));
  await host.run(settled);
  const results = await host.run((skip) => window.axe.run(document, {
    rules: Object.fromEntries(skip.map((id) => [id, { enabled: false }])),
  }), PAGE_RULES);
  return results.violations.map((v) => `${v.id}: ${v.help} (${v.nodes.map((n) => n.target.flat().join(' ')).join(', ')})`);
}

for (const [state, { reach, page = {}, above = '', attributes = '', context = {}, screens = Object.keys(SCREENS) }] of Object.entries(STATES)) {
  for (const screen of screens) {
    test(`${state}, ${screen}: no findings, nothing cut off`, async () => {
      const host = await s.ready({
        ...page,
        context: { ...SCREENS[screen], ...context },
        head: `<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">${page.head ?? ''}`,
        elements: `${above}<mindset-agent id="agent" agent-uid="support" heading="Support" ${attributes}></mindset-agent>`,
      });
      await reach(host, s.runtime);
      await host.page.screenshot({ path: join(SCREENSHOTS, `panel-${state.replaceAll(' ', '-')}-${screen}.png`) });
      assert.deepEqual(await axe(host), []);
      const overflow = await host.run(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(overflow <= 0, `the page scrolls sideways by ${overflow} px`);
    });
  }
}

test('sources are links that give nothing away, and only where they lead to the web', async () => {
  const host = await s.ready();
  await STATES.sources.reach(host, s.runtime);
  const links = await host.panel.host.getByRole('link').evaluateAll((all) => all.map((a) => [a.textContent, a.href, a.rel, a.target]));
  assert.deepEqual(links, [
    ['1Leave policy (opens in a new tab)', 'https://hr.example/leave', 'noopener noreferrer', '_blank'],
    [`2${SOURCES[1].title} (opens in a new tab)`, 'https://hr.example/carry', 'noopener noreferrer', '_blank'],
  ]);
  await host.panel.host.getByRole('list', { name: 'Sources' }).waitFor();
  SOURCES.push({ marker: '[4]', title: '<b>x</b>', url: 'javascript:alert(1)' }, { marker: '[5]', title: 'data', url: 'data:text/html,x' });
  await STATES.sources.reach(host, s.runtime);
  SOURCES.length = 3;
  await host.panel.shows('<b>x</b>');
  assert.equal(await host.panel.host.getByRole('link').count(), 4);
  const announcer = host.panel.host.locator('[role="status"][aria-live="polite"]').first();
  assert.match(await announcer.textContent(), /^Unused days[^<]*March \[2\]\.$/);
});

test('a very long word does not make the panel scroll sideways', async () => {
  const host = await s.ready({ context: { viewport: { width: 360, height: 640 } } });
  s.runtime.onRun = (run) => run.start().say('x'.repeat(400)).finish();
  await host.send('y'.repeat(400));
  const overflow = await host.panel.log.evaluate((log) => log.scrollWidth - log.clientWidth);
  assert.ok(overflow <= 0, `the transcript scrolls sideways by ${overflow} px`);
});

test('the transcript is a log, the composer and the buttons have names, errors are alerts', async () => {
  const host = await s.ready();
  await host.panel.log.waitFor();
  const tree = await host.panel.input.evaluate((e) => e.getAttribute('aria-label') ?? e.labels?.[0]?.textContent ?? '');
  assert.ok(tree.trim().length > 0, 'the composer has a name');
  await STATES.error.reach(host, s.runtime);
  await host.panel.host.getByRole('alert').waitFor();
});

test('a person who asked for less motion gets none', async () => {
  const host = await s.ready({ context: { reducedMotion: 'reduce' } });
  await STATES.waiting.reach(host, s.runtime);
  const still = await s.ready({ context: { reducedMotion: 'reduce' } });
  await STATES.tools.reach(still, s.runtime);
  for (const page of [host, still]) {
    const moving = await page.run(() => document.getElementById('agent').shadowRoot.getAnimations().filter((a) => a.playState === 'running').length);
    assert.equal(moving, 0);
  }
});

test('forced colours keep the composer visible', async () => {
  const host = await s.ready({ context: { forcedColors: 'active' } });
  await STATES.conversation.reach(host, s.runtime);
  await host.page.screenshot({ path: join(SCREENSHOTS, 'panel-conversation-forced-colors.png') });
  assert.equal(await host.panel.input.isVisible(), true);
  assert.deepEqual(await axe(host), []);
  await STATES.question.reach(host, s.runtime);
  await host.page.screenshot({ path: join(SCREENSHOTS, 'panel-question-forced-colors.png') });
  assert.deepEqual(await axe(host), []);
  const colour = (selector, property) => host.panel.host.locator(selector).first()
    .evaluate((part, property) => getComputedStyle(part)[property], property);
  assert.equal(await colour('[part~="tool"] svg', 'color'), await colour('[part~="panel"]', 'color'), 'no colour of its own');
  await host.panel.input.focus();
  assert.equal(await colour('[part~="composer"]', 'outlineStyle'), 'solid', 'where the focus is');
});
