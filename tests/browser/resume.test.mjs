// Answers that survive: the network goes, a connection stands and carries nothing, the page
// is loaded anew, another tab looks on. No text is lost or doubled.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Host, TIMING } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** The usual page with a run that has begun to answer. Nothing is given up here. */
async function answering(timing) {
  const host = await s.ready({ init: { timing: { ...TIMING, giveUp: 60_000, ...timing } } });
  s.runtime.resumes = true;
  s.runtime.hold();
  await host.start('hi');
  const run = await s.runtime.nextRun();
  run.start().say('Half of it, ');
  await host.panel.reads('hi', 'Half of it,');
  return { host, run };
}

/** The answer is whole, was asked for once, and nobody heard of an error. */
async function isWhole(host) {
  await host.panel.reads('hi', 'Half of it, and the rest.');
  const result = await host.late();
  assert.equal(result.status, 'finished', JSON.stringify(result));
  assert.equal(result.text, 'Half of it, and the rest.');
  assert.equal(s.runtime.runs.length, 1);
  assert.equal((await host.names()).includes('error'), false);
  const deltas = (await host.events()).filter(({ name }) => name === 'text-delta').map(({ detail }) => detail.content);
  assert.equal(deltas.join(''), 'Half of it, and the rest.');
  assert.equal(await host.busy(), false);
}

/** The server keeps the conversation of this run, which is under way. */
function keepRunning(run) {
  const { threadId, runId, messages } = run.input;
  s.runtime.conversations.set(threadId, {
    messages: messages.map(({ id, role, content }) => ({ id, role, content, createdAt: '2026-01-01T00:00:00.000Z' })),
    activeRun: { runId, turnId: runId, state: 'running' },
  });
  return threadId;
}

/** And now as it ended. */
function keepEnded(run, text) {
  const known = s.runtime.conversations.get(run.input.threadId);
  delete known.activeRun;
  known.messages.push({ id: `${run.input.runId}-answer`, role: 'assistant', content: text });
}

test('the network goes and comes back in mid-answer', async () => {
  const { host, run } = await answering();
  await host.profile.setOffline(true);
  await host.panel.shows(/no network/i);
  assert.equal(await host.panel.host.locator('[part~="state"]').innerText(), 'Not connected');
  run.say('and the rest.').finish();
  assert.equal(await host.busy(), true);
  await host.profile.setOffline(false);
  await isWhole(host);
  assert.equal(await host.panel.host.getByText(/no network|Reconnecting/i).count(), 0);
  assert.equal(await host.panel.host.locator('[part~="state"]').innerText(), 'Online');
});

test('a connection that breaks is taken up where it broke', async () => {
  const { host, run } = await answering();
  run.cut();
  await until(() => s.runtime.resumed.length, 'the reader to come back');
  run.say('and the rest.').finish();
  await isWhole(host);
  assert.equal(s.runtime.resumed[0], `${run.input.runId}:3`);
});

test('a connection that stands and carries nothing is given up after the heartbeat', async () => {
  const { host, run } = await answering({ heartbeat: 2_000 });
  run.stalled = true;
  run.say('and the rest.').finish();
  await isWhole(host);
});

test('a page that becomes visible does not wait for the heartbeat', async () => {
  const heartbeat = 12_000;
  const { host, run } = await answering({ heartbeat });
  const stalled = Date.now();
  run.stalled = true;
  run.say('and the rest.').finish();
  await new Promise((resolve) => setTimeout(resolve, heartbeat / 3 + 200));
  await host.run(() => document.dispatchEvent(new Event('visibilitychange')));
  await isWhole(host);
  assert.ok(Date.now() - stalled < heartbeat, 'sooner than the heartbeat');
});

test('while the connection is tried again the panel says so, and nothing is an error', async () => {
  const { host, run } = await answering();
  s.runtime.resumes = false;
  const { handle } = s.runtime;
  s.runtime.handle = async (request, response) => (/\/events$/.test(request.url) ? response.destroy() : handle.call(s.runtime, request, response));
  run.cut();
  await host.panel.shows(/Reconnecting/);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(await host.busy(), true);
  s.runtime.handle = handle;
  s.runtime.resumes = true;
  run.say('and the rest.').finish();
  await isWhole(host);
});

test('a resumed answer can be stopped', async () => {
  const { host, run } = await answering();
  run.cut();
  await until(() => s.runtime.resumed.length && run.open, 'the reader to come back');
  run.say('and more');
  await host.panel.reads('hi', 'Half of it, and more');
  await host.panel.stopButton.click();
  assert.equal((await host.late()).status, 'aborted');
  assert.deepEqual(s.runtime.cancels, [run.input.runId]);
  await host.panel.shows('Stopped');
});

test('a page that is loaded anew in mid-answer finds the running turn', async () => {
  const { host, run } = await answering();
  keepRunning(run);
  await host.page.reload();
  await host.panel.reads('hi', 'Half of it,');
  await host.saw('runtime-event:run_started');
  run.say('and the rest.').finish();
  await host.panel.reads('hi', 'Half of it, and the rest.');
  await host.saw('agent-idle');
  const names = await host.names();
  const order = ['agent-initializing', 'conversation', 'agent-busy', 'runtime-event:run_started', 'runtime-event:complete', 'runtime-event:run_finished', 'agent-idle'];
  assert.deepEqual(names.filter((name) => order.includes(name)), order);
  assert.equal(s.runtime.runs.length, 1);
  assert.equal(await host.busy(), false);
});

test('two tabs on one conversation agree', async () => {
  const { host, run } = await answering();
  run.finish();
  await host.late();
  keepRunning(run);
  keepEnded(run, 'Half of it, ');
  const [opened] = await Promise.all([host.profile.waitForEvent('page'), host.run(() => void window.open('/'))]);
  const twin = new Host(host.profile, opened);
  await twin.panel.reads('hi', 'Half of it,');
  await twin.saw('agent-idle');
  s.runtime.onRun = (next) => {
    const known = s.runtime.conversations.get(next.input.threadId);
    const { id, role, content } = next.input.messages.at(-1);
    known.messages.push({ id, role, content });
    known.activeRun = { runId: next.input.runId, turnId: next.input.runId, state: 'running' };
    next.start().say('Second ');
  };
  await host.start('again');
  await twin.panel.reads('hi', 'Half of it,', 'again', 'Second');
  assert.equal(await twin.busy(), true);
  const refused = await twin.run(() => {
    try {
      document.getElementById('agent').sendMessage('me too');
      return null;
    } catch (error) {
      return error.code;
    }
  });
  assert.equal(refused, 'busy');
  const [, second] = s.runtime.runs;
  second.say('answer.');
  keepEnded(second, 'Second answer.');
  second.finish();
  for (const each of [host, twin]) await each.panel.reads('hi', 'Half of it,', 'again', 'Second answer.');
  await until(async () => !(await twin.busy()), 'the twin to be idle');
  assert.equal(s.runtime.runs.length, 2);
});
