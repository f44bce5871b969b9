// The board of examples/board as a person uses it: its page and its tools are one process that the
// runtime starts, and the agent works for it.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { launch } from '../support/browser.mjs';
import { Host } from '../support/host.mjs';
import { Panel } from '../support/panel.mjs';
import { ROOT, SCREENSHOTS } from '../support/paths.mjs';
import { freePort } from '../support/ports.mjs';
import { Runtime } from '../support/runtime.mjs';
import { until } from '../support/wait.mjs';

const PLACE = join(ROOT, 'examples/board');
let browser;
let runtime;
let board;
let host;

before(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const own = await freePort();
  runtime = await Runtime.start({
    config: readFileSync(join(PLACE, 'mindset.toml'), 'utf8'),
    env: (port) => ({
      MINDSET__APPS__BOARD__SERVICES__BOARD__DIRECTORY: PLACE,
      MINDSET__APPS__BOARD__SERVICES__BOARD__COMMAND: `${process.execPath},server.mjs,http://127.0.0.1:${port}`,
      MINDSET__APPS__BOARD__SERVICES__BOARD__PORT: String(own),
    }),
  });
  board = `http://127.0.0.1:${own}/`;
  await until(async () => (await fetch(board).catch(() => undefined))?.ok, 'the board', 30_000);
  browser = await launch();
  host = await Host.open(browser, board, { context: { viewport: { width: 1360, height: 860 } } });
  await host.saw('agent-idle');
});
after(async () => {
  await host?.close();
  await browser?.close();
  await runtime?.stop();
});

const turn = (number) => host.page.locator('#turns > li').nth(number);
/** Waits until a turn says that it stands so. */
async function stands(number, state) {
  const shown = () => turn(number).locator('.state').innerText();
  await until(async () => state === (await shown()), `turn ${number} to be: ${state}`).catch(async (error) => {
    throw new Error(`${error.message}; it is: ${await shown()}`);
  });
}
const inColumn = (column, card) => host.page.locator('.column').filter({ has: host.page.locator('h2', { hasText: column }) }).locator(`[data-card=${card}]`);
const desk = () => host.page.locator('.desk');
const button = (name) => desk().getByRole('button', { name, exact: true });

async function ask(text, way) {
  await host.page.getByLabel('A task for the agent').fill(text);
  await button(way).click();
}

async function picture(name) {
  await host.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}

test('a summary of the board, by its own tool', async () => {
  await button('Summarize the board').click();
  await stands(0, 'Finished');
  assert.match(await turn(0).locator('.said').innerText(), /3 in “To do”.*C-2 .*waits longest: 12 days/);
});

test('a card moves when the person says so, while one follow-up steers and one waits', async () => {
  await ask('Move C-3 to Done', 'Ask');
  await stands(1, 'Waits for your word');
  await until(async () => (await button('Allow once').count()) === 1, 'the approval');
  assert.match(await turn(1).locator('.decision').innerText(), /move_card[^]*card\s+C-3\s+column\s+Done/);
  assert.equal(await inColumn('Doing', 'C-3').count(), 1);
  const taken = host.page.waitForResponse((response) => response.url().endsWith('/runs') && response.request().method() === 'POST');
  await ask('Add a card “Thank the testers”', 'Steer');
  assert.equal((await taken).ok(), true);
  await ask('Move C-7 to Done', 'Queue');
  await stands(3, 'Waits, place 2');
  await picture('board-approval');
  await button('Allow once').click();
  await until(() => inColumn('Done', 'C-3').count(), 'C-3 to be done');
  // Read by the turn that ran, which answers it.
  await stands(2, 'Read by the turn above');
  await until(() => inColumn('To do', 'C-9').count(), 'the new card');
  await stands(1, 'Finished');
  // And then the one that waited, which asks for itself.
  await stands(3, 'Waits for your word');
  await button('Deny').click();
  await stands(3, 'Finished');
  assert.equal(await inColumn('Doing', 'C-7').count(), 1);
});

test('a tool asks the person, and the answer goes on', async () => {
  await button('Plan my week').click();
  await stands(4, 'Waits for your answer');
  await picture('board-question');
  await turn(4).getByLabel('Finish what is started').check();
  await button('Answer').click();
  await stands(4, 'Finished');
  assert.match(await turn(4).locator('.said').innerText(), /Finish what is started.*C-4/);
  await until(async () => (await host.page.getByText('This week').count()) === 2, 'the cards of the week');
});

test('a turn that is stopped has nothing to decide', async () => {
  await ask('Move C-7 to Done', 'Ask');
  await stands(5, 'Waits for your word');
  await button('Stop').click();
  await stands(5, 'Stopped');
  await until(async () => (await turn(5).locator('.decision').count()) === 0, 'the card to go');
  assert.equal(await inColumn('Doing', 'C-7').count(), 1);
});

test('text goes from a card to the chat, where the person sends it, and the board observes the answer', async () => {
  await inColumn('To do', 'C-2').getByRole('button', { name: 'Discuss' }).click();
  const panel = new Panel(host.page);
  const dialog = panel.host.getByRole('dialog', { name: /./ }).last();
  await dialog.getByRole('textbox').fill('Summarize the board');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await panel.sendButton.click();
  await until(async () => (await host.page.locator('#seen li').allInnerTexts()).some((text) => /summarize_board/.test(text)), 'the observed answer');
  await picture('board-chat');
  assert.deepEqual(await host.errors(), []);
  assert.deepEqual(host.console, []);
});

test('in the dark and on a phone it fits', async () => {
  await host.close();
  for (const [name, context] of [
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
  ]) {
    host = await Host.open(browser, board, { context });
    await host.saw('agent-idle');
    await host.page.locator('.item').first().waitFor();
    await button('Summarize the board').click();
    await stands(0, 'Finished');
    await picture(`board-${name}`);
    assert.equal(await host.run(() => document.documentElement.scrollWidth <= document.documentElement.clientWidth), true, name);
    await host.close();
  }
  host = undefined;
});
