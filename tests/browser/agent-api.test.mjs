// The agent API in a page: the reference's example, calls beside the element's own conversation,
// cancelling, streams, and what is shown in the element.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { html } from '../support/host.mjs';
import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

const APPROVAL = {
  id: 'a1', reason: 'tool_call', message: 'May it pay?', toolCallId: 'c1',
  metadata: { mindset: { toolName: 'pay', source: 'mcp', reason: 'This tool needs your approval.', toolInput: { to: 'Ann' } } },
};
const CHILDS = { ...APPROVAL, id: 'a2', toolCallId: 'c2', metadata: { mindset: { ...APPROVAL.metadata.mindset, sessionId: 'child' } } };
const QUESTIONS = {
  id: 'q1', reason: 'input_required', message: 'Plan', toolCallId: 'c3',
  metadata: { mindset: { toolName: 'ask_user', questionnaire: { id: 'q1', steps: [{ id: 'when', question: 'When?', selectionMode: 'single', allowOther: true, required: true }] } } },
};
const CLIENT = (origin) => `mindset.createAgentClient({ server: '${origin}', appUid: 'acme', agentUid: 'support', fetchAuthentication: () => 'user-token', timing: { stop: 300, giveUp: 300, backoff: 50, request: 2000 } })`;

/** A page whose `agent` is the element's, or a client of its own. */
async function ready(entry = (origin) => CLIENT(origin)) {
  const foot = `<script>
    window.agent = ${entry(s.runtime.origin)};
    window.told = [];
    window.results = {};
    window.start = (name, method, given, listens = true) => {
      const options = listens ? { onEvent: (event) => told.push({ name, ...event }) } : {};
      agent[method](given, options).then(
        (value) => { results[name] = { value: value ?? null }; },
        ({ name: kind, code, disposition }) => { results[name] = { kind, code, disposition }; },
      );
    };
  </script>`;
  return s.ready({ foot });
}

const start = (host, ...args) => host.run((args) => window.start(...args), args);
const result = (host, name) => until(() => host.run((name) => window.results[name], name), `the result of ${name}`);
const told = (host, name) => host.run((name) => window.told.filter((event) => event.name === name), name);
const heard = (host, name, type) => until(async () => (await told(host, name)).find((event) => event.type === type), `${type} of ${name}`);
const begins = (run) => run.start({ metadata: { mindset: { turnId: run.input.runId, model: 'fast' } } });

for (const [who, entry] of [['a client', CLIENT], ['the element', () => "document.getElementById('agent').agent"]]) {
  test(`the reference's example, by ${who}`, async () => {
    s.runtime.onRun = (run) => (run.input.resume
      ? begins(run).say('Risks: none.').finish({ type: 'interrupt', interrupts: [QUESTIONS] })
      : begins(run).say('Looking. ').finish({ type: 'interrupt', interrupts: [APPROVAL] }));
    const host = await ready(() => `{}; window.mcode = { miniapp: { get agent() { return ${entry(s.runtime.origin)} } } }`);
    await host.run(() => {
      const output = document.createElement('p');
      output.id = 'output';
      document.body.append(output);
      window.cards = [];
      window.renderApproval = (event) => window.cards.push(event);
      window.renderQuestionnaire = (request) => { window.rendered = request; };
      window.openInChatButton = document.createElement('button');
    });
    await host.run(() => {
      // As it stands there.
      window.example = (async () => {
        const agent = window.mcode?.miniapp?.agent;
        if (agent) {
          window.agent = agent;
          const result = await agent.run(
            { text: 'Summarize this week\'s risks for the current filters and list what needs my confirmation.' },
            {
              onEvent(event) {
                if (event.type === 'text.delta') output.textContent += event.text;
                if (event.type === 'permission.requested') {
                  // Render an approval card on the page; after the user decides, call:
                  // agent.reply({ sessionId: event.sessionId, requestId: event.requestId, decision: 'allowOnce' })
                  renderApproval(event);
                }
              },
            },
          );
          if (result.pendingQuestion) renderQuestionnaire(result.pendingQuestion.request);
          openInChatButton.onclick = () => agent.open(result.sessionId);
          return result;
        }
      })();
    });
    const card = await until(() => host.run(() => window.cards[0]), 'the approval');
    assert.deepEqual([card.toolName, card.toolInput], ['pay', { to: 'Ann' }]);
    await host.run(({ sessionId, requestId }) => window.agent.reply({ sessionId, requestId, decision: 'allowOnce' }), card);
    const { status, sessionId, pendingQuestion } = await host.run(() => window.example);
    assert.deepEqual([status, sessionId, pendingQuestion.requestId], ['finished', card.sessionId, 'q1']);
    assert.equal(await host.run(() => window.rendered.steps[0].question), 'When?');
    assert.equal(await host.run(() => document.getElementById('output').textContent), 'Looking. Risks: none.');
    const [first, second] = s.runtime.runs;
    const { mindset } = first.input.forwardedProps;
    assert.deepEqual([mindset.agentSession, mindset.answers], [true, true]);
    assert.deepEqual(second.input.resume, [{ interruptId: 'a1', status: 'resolved', payload: { approved: true } }]);
    assert.match(first.headers.authorization, entry === CLIENT ? /^Bearer user-token$/ : /^Bearer token-1$/);
    assert.equal(first.url, '/v1/agents/support/runs');

    // The element shows it, with its question.
    s.runtime.conversations.set(sessionId, {
      owner: 'app', messages: [{ id: 'u', role: 'user', content: 'Summarize' }, { id: 'm', role: 'assistant', content: 'Risks: none.' }],
      openInterrupts: [QUESTIONS], activeRun: { runId: second.input.runId, turnId: first.input.runId, state: 'waiting' },
    });
    await host.run(() => window.openInChatButton.onclick());
    await host.panel.question.waitFor();
  });
}

test('events carry their session: a child asks by its own, and is answered by it', async () => {
  s.runtime.onRun = (run) => (run.input.resume ? begins(run).say('Done.').finish() : begins(run).finish({ type: 'interrupt', interrupts: [APPROVAL, CHILDS] }));
  const host = await ready();
  await start(host, 'run', 'run', { text: 'go' });
  await until(async () => (await told(host, 'run')).filter(({ type }) => type === 'permission.requested').length === 2, 'two approvals');
  const [root, child] = (await told(host, 'run')).filter(({ type }) => type === 'permission.requested');
  assert.equal(child.sessionId, 'child');
  await start(host, 'one', 'reply', { sessionId: child.sessionId, requestId: child.requestId, decision: 'deny' });
  await start(host, 'two', 'reply', { sessionId: root.sessionId, requestId: root.requestId, decision: 'allowOnce' });
  const { value } = await result(host, 'run');
  assert.equal(value.text, 'Done.');
  assert.deepEqual([await result(host, 'one'), await result(host, 'two')], [{ value: null }, { value: null }]);
  const events = await told(host, 'run');
  assert.deepEqual(events.filter(({ type }) => type === 'permission.resolved').map(({ sessionId, decision }) => [sessionId, decision]), [['child', 'deny'], [root.sessionId, 'allowOnce']]);
  const { name, type, ...end } = events.at(-1);
  assert.deepEqual([name, type], ['run', 'turn.finished']);
  assert.deepEqual(end, value);
  assert.equal(s.runtime.runs.length, 2);
});

test('without a listener nothing is promised, and refusals have names of their own', async () => {
  const host = await ready();
  await start(host, 'deaf', 'run', { text: 'go', model: 'strong', whenBusy: 'queue' }, false);
  assert.equal((await result(host, 'deaf')).value.text, 'You said: go.');
  const { mindset } = s.runtime.runs[0].input.forwardedProps;
  assert.deepEqual([mindset.answers, mindset.model, mindset.whenBusy], [undefined, 'strong', 'queue']);
  let at = 0;
  for (const [status, code, context, expected] of [
    [409, 'busy', undefined, 'busy'],
    [409, 'busy', { openInterrupts: [QUESTIONS] }, 'question_pending'],
    [429, 'rate-limited', { reason: 'queue-full', limit: 16 }, 'queue_full'],
    [429, 'rate-limited', undefined, 'rate-limited'],
    [403, 'forbidden', { permission: 'session.run' }, 'permission_denied'],
    [404, 'model-not-found', undefined, 'model_not_found'],
    [404, 'agent-not-found', undefined, 'agent_not_found'],
    [404, 'not-found', undefined, 'session_not_found'],
  ]) {
    s.runtime.onRun = (run) => run.reply(status, 'application/json', JSON.stringify({ error: { code, message: 'No.', retryable: false, context } }));
    at += 1;
    await start(host, `call-${at}`, 'run', { text: 'go' });
    assert.deepEqual(await result(host, `call-${at}`), { kind: 'AgentError', code: expected, disposition: 'reported' });
    assert.deepEqual(await told(host, `call-${at}`), []);
  }
  s.runtime.onRun = (run) => run.reply(502, 'text/html', '<h1>Bad gateway</h1>');
  await start(host, 'far', 'run', { text: 'go' });
  assert.deepEqual(await result(host, 'far'), { kind: 'AgentError', code: 'agent_outcome_unknown', disposition: 'unknown_after_dispatch' });
});

test('a turn that is lost is posted once, and nobody knows', async () => {
  const host = await ready();
  s.runtime.onRun = (run) => (s.runtime.runs.length > 1 ? run.cut() : begins(run).say('Begun').cut());
  await start(host, 'run', 'run', { text: 'go' });
  assert.deepEqual(await result(host, 'run'), { kind: 'AgentError', code: 'agent_outcome_unknown', disposition: 'unknown_after_dispatch' });
  assert.equal(new Set(s.runtime.runs.map(({ input }) => input.runId)).size, 1);
  assert.deepEqual((await told(host, 'run')).filter(({ type }) => type === 'turn.finished'), []);
});

test('calls are cancelled by their names', async () => {
  const host = await ready();
  s.runtime.hold();
  await start(host, 'run', 'run', { text: 'go', requestId: 'mine' });
  const run = await s.runtime.nextRun();
  begins(run).say('Half');
  await heard(host, 'run', 'text.delta');
  await start(host, 'twice', 'run', { text: 'go', requestId: 'mine' });
  assert.equal((await result(host, 'twice')).code, 'invalid-request');
  await start(host, 'cancel', 'cancel', 'mine');
  assert.deepEqual((await result(host, 'run')).value.status, 'aborted');
  assert.deepEqual(await result(host, 'cancel'), { value: null });
  assert.equal((await told(host, 'run')).at(-1).type, 'text.delta');
  assert.deepEqual(s.runtime.cancels, [run.input.runId]);
  await start(host, 'again', 'cancel', 'mine');
  assert.equal((await result(host, 'again')).code, 'request_not_found');
});

test('a page holds four streams, and more calls wait in order', async () => {
  const host = await ready();
  s.runtime.hold();
  for (const at of [1, 2, 3, 4, 5, 6]) await start(host, `run-${at}`, 'run', { text: `${at}`, requestId: `run-${at}` });
  const runs = [];
  for (let at = 0; at < 4; at += 1) runs.push(await s.runtime.nextRun());
  assert.equal((await heard(host, 'run-6', 'run.queued')).position, 2);
  assert.equal(s.runtime.runs.length, 4);
  await start(host, 'cancel', 'cancel', 'run-5');
  assert.deepEqual(await result(host, 'run-5'), { kind: 'AgentError', code: 'cancelled', disposition: 'not_dispatched' });
  for (const run of runs) begins(run).say('Yes.').finish();
  const last = await s.runtime.nextRun();
  assert.equal(last.text, '6');
  begins(last).say('And last.').finish();
  assert.equal((await result(host, 'run-6')).value.text, 'And last.');
});

test('a page has no key', async () => {
  const host = await ready();
  const message = await host.run((server) => {
    try {
      return window.mindset.createAgentClient({ server, appUid: 'acme', apiKey: 'sk-secret', externalUserId: 'ann' });
    } catch (error) {
      return `${error.code} ${error.message}`;
    }
  }, s.runtime.origin);
  assert.match(message, /^invalid-config .*never takes an apiKey in a page/);
  assert.doesNotMatch(message, /sk-secret/);
});

/** Observers of the scripted runtime: `events` are told to each, and `end` says why it is over. */
function observed() {
  const open = [];
  s.runtime.onObserve = (request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'access-control-allow-origin': '*' });
    response.write(': hello\n\n');
    const observer = { url: request.url, token: request.headers.authorization, response, gone: false };
    observer.tell = (event) => response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.on('close', () => { observer.gone = true; });
    open.push(observer);
  };
  return { next: (at) => until(() => open[at], `observer ${at}`), open };
}

test('observers hear until they are ended: by name, by the runtime, or not at all by a lost connection', async () => {
  const observers = observed();
  const host = await ready();
  await host.run(() => {
    agent.observe({ all: true }, { onEvent: (event) => told.push({ name: 'all', ...event }), requestId: 'all' }).then((value) => { results.all = value; });
    agent.observe({ sessionId: 'a/b' }, { onEvent: (event) => told.push({ name: 'one', ...event }) }).then((value) => { results.one = value; });
  });
  const [all, one] = [await observers.next(0), await observers.next(1)].sort((a) => (a.url.includes('all') ? -1 : 1));
  assert.deepEqual([all.url, one.url, all.token], ['/v1/observe?all=true', '/v1/observe?sessionId=a%2Fb', 'Bearer user-token']);
  const committed = { type: 'message.committed', sessionId: 'c', turnId: 't', text: 'Über – 😀' };
  // In pieces that cut characters.
  for (const byte of Buffer.from(`data: ${JSON.stringify(committed)}\n\n`)) all.response.write(Buffer.of(byte));
  assert.deepEqual(await heard(host, 'all', 'message.committed'), { name: 'all', ...committed });
  all.response.destroy();
  const again = await observers.next(2);
  assert.equal(again.url, all.url);
  again.tell({ type: 'turn.finished', sessionId: 'c', turnId: 't', status: 'finished', text: 'Über – 😀' });
  await heard(host, 'all', 'turn.finished');
  await host.run(() => agent.cancel('all'));
  assert.deepEqual(await result(host, 'all'), { reason: 'cancelled' });
  await until(() => again.gone, 'the stream to be let go');
  one.response.end('event: end\ndata: {"reason":"permission"}\n\n');
  assert.deepEqual(await result(host, 'one'), { reason: 'permission' });
  assert.deepEqual((await told(host, 'one')), []);
  assert.equal(observers.open.length, 3, 'what the runtime has ended is not opened again');
});

test('an observer that is refused, or hears of nothing', async () => {
  const host = await ready();
  s.runtime.onObserve = (_request, response) => {
    response.writeHead(429, { 'content-type': 'application/json', 'access-control-allow-origin': '*' });
    response.end(JSON.stringify({ error: { code: 'too-many-subscriptions', message: 'Four are open.', retryable: false } }));
  };
  await start(host, 'fifth', 'observe', { all: true });
  assert.deepEqual(await result(host, 'fifth'), { kind: 'AgentError', code: 'too_many_subscriptions', disposition: 'reported' });
  for (const [name, given, listens] of [['deaf', { all: true }, false], ['none', {}, true], ['both', { all: true, sessionId: 's' }, true]]) {
    await start(host, name, 'observe', given, listens);
    assert.equal((await result(host, name)).code, 'invalid-request');
  }
});
