// The agent API in Node against the real runtime: what a service of an application does, with tools
// of a real MCP server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { createAgentClient, createChat } from '../../dist/mindset-agent-node.mjs';
import { configOf } from '../support/config.mjs';
import { everything } from '../support/mcp.mjs';
import { PromptedModel } from '../support/prompted-model.mjs';
import { Runtime } from '../support/runtime.mjs';
import { until } from '../support/wait.mjs';

const KEY = 'backend-key';
let model;
let tools;
let runtime;
let people = 0;

before(async () => {
  [model, tools] = await Promise.all([PromptedModel.start(), everything()]);
  const servers = [{ uid: 'everything', url: tools.url, read_only: ['get-*'] }];
  const firm = { api_keys: [KEY], agent_access: ['session.run', 'session.read'], agent_concurrency: 2, default_agent: 'helper' };
  const config = configOf({ model: model.url, app: firm, servers, agents: [{ approve_writes: true, ask_user: true }, { uid: 'other' }] });
  const shut = configOf({ model: model.url, app: { uid: 'shut', api_keys: [KEY] } }).slice(configOf({ model: model.url }).indexOf('[[apps]]'));
  runtime = await Runtime.start({ config: `${config}\n${shut}` });
});
after(async () => {
  await runtime?.stop();
  await Promise.all([model?.stop(), tools?.stop()]);
});

/** A service that works for a new user, or for this one. */
function service(options = {}) {
  people += options.externalUserId ? 0 : 1;
  return createAgentClient({ server: runtime.origin, appUid: 'firm', apiKey: KEY, externalUserId: `user-${people}`, ...options });
}

/** Hears events; `of(type)` gives those of one kind. */
function ear(then = () => {}) {
  const events = [];
  const onEvent = (event) => {
    events.push(event);
    then(event);
  };
  const of = (type) => events.filter((event) => event.type === type);
  return { events, onEvent, of, heard: (type) => until(() => of(type)[0], `${type} to be heard`) };
}

const failure = (promise) => promise.then(
  (value) => assert.fail(`it resolved: ${JSON.stringify(value)}`),
  ({ name, code, disposition }) => {
    assert.equal(name, 'AgentError');
    return [code, disposition];
  },
);
const ROOM = [['ask_user', { title: 'A room', steps: [{ id: 'room', question: 'Which?', options: [{ id: 'a', label: 'Atrium' }, { id: 'b', label: 'Bay' }] }] }]];
const ECHO = [['everything__echo', { message: 'hello' }]];
const say = (calls) => JSON.stringify(calls);

/** What a result and the event of its end have in common. */
function same(result, events) {
  const ends = events.filter(({ type }) => type === 'turn.finished');
  assert.equal(ends.length, 1);
  assert.equal(events.at(-1), ends[0], 'it is the last of the turn');
  const { type, ...end } = ends[0];
  assert.deepEqual(end, result);
}

test("the reference's example", async () => {
  const allowed = [];
  const confirmTool = async (toolName, reason) => {
    assert.ok(reason);
    allowed.push(toolName);
    return true;
  };
  const askUser = async (request) => request.steps.map(({ id, options }) => ({ stepId: id, selectedOptionIds: [options[1].id] }));
  // As it stands there.
  async function runWithQuestions(agent, text) {
    const onEvent = (event) => {
      if (event.type !== 'permission.requested') return;
      // The run waits for this decision; the event names the session even on its first run.
      void confirmTool(event.toolName, event.reason)
        .then((allowed) =>
          agent.reply({
            sessionId: event.sessionId,
            requestId: event.requestId,
            decision: allowed ? 'allowOnce' : 'deny',
          }),
        )
        .catch(() => {}); // REQUEST_NOT_FOUND: the run was cancelled meanwhile.
    };
    let result = await agent.run({ text }, { onEvent });
    // Answer only after the run resolves: until then it holds the session's single-run slot.
    while (result.pendingQuestion) {
      const answers = await askUser(result.pendingQuestion.request);
      result = await agent.answer(
        { sessionId: result.sessionId, requestId: result.pendingQuestion.requestId, answers },
        { onEvent },
      );
    }
    return result;
  }
  const result = await runWithQuestions(service(), say([...ECHO, ...ROOM]));
  assert.deepEqual([result.status, result.text], ['finished', 'Done.']);
  assert.deepEqual(allowed, ['echo']);
  const told = model.requests.at(-1).filter(({ role }) => role === 'tool').map(({ content }) => content);
  assert.equal(told[0], 'Echo: hello');
  assert.deepEqual(JSON.parse(told[1]).answers[0].selected, ['Bay']);
});

test('a turn is told in order, and its result is its last event', async () => {
  const agent = service();
  const { events, onEvent } = ear((event) => {
    if (event.type === 'permission.requested') agent.reply({ sessionId: event.sessionId, requestId: event.requestId, decision: 'deny' });
  });
  const result = await agent.run({ text: say([['everything__get-sum', { a: 1, b: 2 }], ...ECHO]) }, { onEvent });
  assert.deepEqual(events.map(({ type, toolName, ok, decision, text }) => [type, toolName ?? decision ?? text, ok].filter((part) => part !== undefined)), [
    ['turn.started'],
    ['tool.started', 'get-sum'],
    ['tool.finished', 'get-sum', true],
    ['permission.requested', 'echo'],
    ['permission.resolved', 'deny'],
    ['tool.finished', 'echo', false],
    ['text.delta', 'Done.'],
    ['message.committed', 'Done.'],
    ['turn.finished', 'Done.'],
  ]);
  assert.equal(new Set(events.map(({ sessionId }) => sessionId)).size, 1);
  assert.equal(new Set(events.map(({ turnId }) => turnId)).size, 1);
  assert.equal(events[0].model, 'calling');
  const { requestId, toolInput } = events[3];
  assert.deepEqual(toolInput, { message: 'hello' });
  same(result, events);
  assert.deepEqual(await failure(agent.reply({ sessionId: result.sessionId, requestId, decision: 'allowOnce' })), ['REQUEST_NOT_FOUND', 'reported']);
});

test('nobody listens: an approval is denied at once, and the model hears that nobody can', async () => {
  const result = await service().run({ text: say(ECHO) });
  assert.equal(result.status, 'finished');
  assert.match(model.requests.at(-1).at(-1).content, /approv/);
});

test('nobody listens: a questionnaire is in the result all the same', async () => {
  const agent = service();
  const { sessionId, status, pendingQuestion } = await agent.run({ text: say(ROOM) });
  assert.deepEqual([status, pendingQuestion?.request.title], ['finished', 'A room']);
  const answers = [{ stepId: 'room', selectedOptionIds: ['b'] }];
  assert.equal((await agent.answer({ sessionId, questionId: pendingQuestion.questionId, answers })).text, 'Done.');
  assert.match(model.requests.at(-1).at(-1).content, /Bay/);
});

test('a questionnaire ends the turn, and is answered or dismissed before anything else runs', async () => {
  const agent = service();
  const { events, onEvent } = ear();
  const result = await agent.run({ text: say(ROOM) }, { onEvent });
  const { sessionId, pendingQuestion } = result;
  same(result, events);
  assert.deepEqual(events.map(({ type }) => type), ['turn.started', 'question.requested', 'turn.finished']);
  assert.equal(pendingQuestion.questionId, events[1].questionId);
  assert.equal(pendingQuestion.requestId, pendingQuestion.questionId);
  assert.deepEqual(pendingQuestion.request, events[1].request);
  assert.deepEqual(await failure(agent.run({ sessionId, text: 'and?' })), ['QUESTION_PENDING', 'reported']);
  assert.equal((await agent.session(sessionId)).state, 'waiting');
  assert.deepEqual(await failure(agent.answer({ sessionId, requestId: 'other', answers: [] })), ['REQUEST_NOT_FOUND', 'reported']);

  // Another process of the same service answers.
  const later = ear();
  const other = service({ externalUserId: `user-${people}` });
  const done = await other.answer({ sessionId, questionId: pendingQuestion.questionId, dismissed: true }, { onEvent: later.onEvent });
  same(done, later.events);
  assert.deepEqual([done.status, done.text, done.turnId], ['finished', 'Done.', result.turnId]);
  assert.deepEqual(await failure(agent.answer({ sessionId, requestId: pendingQuestion.requestId, answers: [] })), ['REQUEST_NOT_FOUND', 'reported']);
  assert.deepEqual(await agent.session(sessionId).then(({ state, reply }) => [state, reply]), ['idle', 'Done.']);
});

test('another client decides an approval, in the session of the event', async () => {
  const agent = service();
  const { onEvent, heard } = ear();
  const running = agent.run({ text: say(ECHO) }, { onEvent });
  const { sessionId, requestId } = await heard('permission.requested');
  const other = service({ externalUserId: `user-${people}` });
  await other.reply({ sessionId, requestId, decision: 'allowOnce' });
  await until(() => model.requests.at(-1).at(-1).content === 'Echo: hello', 'the call to run');
  // The first one hears of it when it tries.
  assert.deepEqual(await failure(agent.reply({ sessionId, requestId, decision: 'deny' })), ['REQUEST_NOT_FOUND', 'reported']);
  const result = await running;
  assert.deepEqual([result.status, result.text], ['finished', 'Done.']);
});

test('cancelled before its turn began, and after', async () => {
  const agent = service();
  assert.deepEqual(await failure(agent.run({ text: 'hi' }, { signal: AbortSignal.abort() })), ['CANCELLED', 'not_dispatched']);

  const first = ear();
  const controller = new AbortController();
  const holding = agent.run({ text: 'hold one' }, { onEvent: first.onEvent, signal: controller.signal });
  await model.holding('one');
  const { sessionId } = await first.heard('text.delta');
  const second = ear();
  const waiting = agent.run({ sessionId, text: 'later', whenBusy: 'queue', requestId: 'later' }, { onEvent: second.onEvent });
  const { position } = await second.heard('run.queued');
  assert.equal(position, 1);
  await agent.cancel('later');
  assert.deepEqual(await failure(waiting), ['CANCELLED', 'reported']);
  assert.deepEqual(second.events.map(({ type }) => type), ['run.queued']);

  const heard = first.events.length;
  controller.abort();
  const result = await holding;
  assert.deepEqual([result.status, result.text], ['aborted', 'Holding.']);
  assert.equal(first.events.length, heard, 'after cancel no event');
  assert.deepEqual(await failure(agent.cancel('later')), ['REQUEST_NOT_FOUND', 'not_dispatched']);
});

test('cancelled while an approval waits, a late word counts no more', async () => {
  const agent = service();
  const { events, onEvent, heard } = ear();
  const running = agent.run({ text: say(ECHO), requestId: 'mine' }, { onEvent });
  const { sessionId, requestId } = await heard('permission.requested');
  await agent.cancel('mine');
  assert.equal((await running).status, 'aborted');
  assert.equal(events.at(-1).type, 'permission.requested');
  assert.deepEqual(await failure(agent.reply({ sessionId, requestId, decision: 'allowOnce' })), ['REQUEST_NOT_FOUND', 'reported']);
});

test('busy: refused, queued, steered', async () => {
  const agent = service();
  const first = ear();
  const running = agent.run({ text: 'hold two' }, { onEvent: first.onEvent });
  await model.holding('two');
  const { sessionId } = await first.heard('text.delta');
  assert.deepEqual(await failure(agent.run({ sessionId, text: 'now' })), ['BUSY', 'not_dispatched']);
  // A client that does not know of the turn hears it from the runtime.
  const other = service({ externalUserId: `user-${people}` });
  assert.deepEqual(await failure(other.run({ sessionId, text: 'now' })), ['BUSY', 'reported']);
  const next = ear();
  const queued = agent.run({ sessionId, text: 'second', whenBusy: 'queue' }, { onEvent: next.onEvent });
  await next.heard('run.queued');
  model.release('two');
  assert.equal((await running).text, 'Holding.');
  const result = await queued;
  assert.equal(result.text, 'You said: second.');
  assert.deepEqual(next.events.map(({ type }) => type).filter((type) => type !== 'text.delta'), ['run.queued', 'turn.started', 'message.committed', 'turn.finished']);
  same(result, next.events);

  // Read at the next step of the turn that waits for an approval.
  const asked = ear();
  const asking = agent.run({ sessionId, text: say(ECHO) }, { onEvent: asked.onEvent });
  const { requestId } = await asked.heard('permission.requested');
  const steered = ear();
  const steer = agent.run({ sessionId, text: 'and louder', whenBusy: 'steer' }, { onEvent: steered.onEvent });
  await until(async () => {
    const row = await (await fetch(`${runtime.origin}/v1/conversations/${sessionId}`, { headers: await headersOf() })).json();
    return row.queue?.some(({ state }) => state === 'steering');
  }, 'the steer to be there');
  await agent.reply({ sessionId, requestId, decision: 'allowOnce' });
  const read = await steer;
  assert.equal(read.status, 'steered');
  assert.equal(read.text, undefined);
  assert.deepEqual(steered.of('turn.finished'), []);
  assert.equal((await asking).status, 'finished');
  assert.ok(JSON.stringify(model.requests.at(-1)).includes('and louder'));
});

/** The headers of the newest user. */
async function headersOf() {
  const response = await runtime.post('/api/v1/appuid/firm/sdkusers/auth', { externalId: `user-${people}` }, { 'x-api-key': KEY });
  return { authorization: `Bearer ${(await response.json()).authToken}` };
}

test('two turns at once, eight that wait, the next is refused', async () => {
  const agent = service();
  const holding = ['a', 'b'].map((name) => agent.run({ text: `hold ${name}` }));
  await Promise.all(['a', 'b'].map((name) => model.holding(name)));
  const ears = Array.from({ length: 8 }, () => ear());
  const waiting = [];
  for (const { onEvent, heard } of ears) {
    waiting.push(agent.run({ text: `number ${waiting.length}` }, { onEvent }));
    await heard('run.queued');
  }
  assert.deepEqual(ears.map(({ events }) => events[0].position), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.deepEqual(await failure(agent.run({ text: 'one too many' })), ['QUEUE_FULL', 'reported']);
  model.release('a');
  model.release('b');
  await Promise.all(holding);
  const texts = (await Promise.all(waiting)).map(({ text }) => text);
  assert.deepEqual(texts, ears.map((_, at) => `You said: number ${at}.`));
});

test('what there is not', async () => {
  const agent = service();
  const { sessionId } = await agent.create();
  const stranger = service();
  for (const call of [
    () => stranger.run({ sessionId, text: 'hi' }),
    () => stranger.session(sessionId),
    () => agent.run({ sessionId: 'none', text: 'hi' }),
    () => agent.session('none'),
  ]) assert.deepEqual(await failure(call()), ['SESSION_NOT_FOUND', 'reported']);
  assert.deepEqual(await failure(agent.run({ text: 'hi', model: 'none' })), ['MODEL_NOT_FOUND', 'reported']);
  assert.deepEqual(await failure(agent.run({ text: 'hi', agent: 'none' })), ['AGENT_NOT_FOUND', 'reported']);
  assert.deepEqual(await failure(agent.create({ agent: 'none' })), ['AGENT_NOT_FOUND', 'reported']);
  assert.deepEqual(await failure(agent.run({ sessionId, text: 'hi', agent: 'other' })), ['INVALID_REQUEST', 'not_dispatched']);
  assert.deepEqual(await failure(agent.run({ text: '' })), ['INVALID_REQUEST', 'not_dispatched']);
  assert.deepEqual(await failure(agent.open(sessionId)), ['NOT_READY', 'not_dispatched']);
  assert.deepEqual(await failure(agent.session()), ['INVALID_REQUEST', 'not_dispatched']);
  const shut = service({ appUid: 'shut' });
  for (const call of [() => shut.run({ text: 'hi', agent: 'helper' }), () => shut.create({ agent: 'helper' }), () => shut.sessions(), () => shut.models()]) {
    assert.deepEqual(await failure(call()), ['PERMISSION_DENIED', 'reported']);
  }
});

test("sessions of the application's own, and conversations of the user", async () => {
  const agent = service({ agentUid: 'other' });
  assert.deepEqual((await agent.models()).models, [{ id: 'calling', default: true }]);
  assert.deepEqual((await agent.agents()).agents.map(({ agentUid, default: usual }) => [agentUid, usual]), [['helper', true], ['other', undefined]]);
  const own = await agent.run({ text: 'mine' });
  assert.equal((await agent.session(own.sessionId)).agent, 'other');

  const { authorization } = await headersOf();
  const chat = createChat({ server: runtime.origin, appUid: 'firm', agentUid: 'helper', fetchAuthentication: () => authorization.slice(7) });
  const { conversationId } = await chat.send('theirs');
  const { sessions } = await agent.sessions();
  assert.deepEqual(sessions.map(({ sessionId }) => sessionId), [conversationId]);
  const { state, reply, model: used } = await agent.session(conversationId);
  assert.deepEqual([state, reply, used], ['idle', 'You said: theirs.', 'calling']);
  assert.deepEqual(await failure(agent.run({ sessionId: conversationId, text: 'mine too' })), ['SESSION_NOT_FOUND', 'reported'], 'reading is no running');

  // The API of a chat: its user, its agent, sessions of their own.
  const result = await chat.agent.run({ text: 'beside' });
  assert.equal(result.text, 'You said: beside.');
  assert.notEqual(result.sessionId, conversationId);
  assert.equal((await agent.session(result.sessionId)).agent, 'helper');
  assert.equal((await chat.agent.session()).sessionId, conversationId);
  assert.equal(chat.messages.length, 2);
  chat.close();
  assert.ok(['run', 'observe', 'whenBusy'].every((name) => agent.capabilities.has(`agent.${name}`)));
  assert.equal(agent.capabilities.has('agent.open'), false);
});

test('observers hear final replies of all conversations or the progress of one, and nothing to decide, until the user switches it off', async () => {
  const agent = service();
  const { authorization } = await headersOf();
  const all = ear();
  const ended = agent.observe({ all: true }, { onEvent: all.onEvent });
  const chat = createChat({ server: runtime.origin, appUid: 'firm', agentUid: 'helper', approvals: 'ask', fetchAuthentication: () => authorization.slice(7) });
  chat.on((event) => {
    if (event.type === 'permission_requested') chat.agent.reply({ requestId: event.requestId, decision: 'allowOnce' });
  });
  // It begins with what happens from then on.
  await until(async () => (await chat.send('hello')) && all.of('turn.finished')[0], 'the observer to hear');
  const { conversationId } = chat;
  const one = ear();
  const controller = new AbortController();
  const single = agent.observe({ sessionId: conversationId }, { onEvent: one.onEvent, signal: controller.signal });
  await until(async () => (await chat.send(say(ECHO))) && one.of('turn.finished')[0], 'the observer of one to hear');
  assert.ok(all.events.every(({ sessionId }) => sessionId === conversationId));
  assert.deepEqual(new Set(all.events.map(({ type }) => type)), new Set(['turn.started', 'message.committed', 'turn.finished']));
  assert.deepEqual(one.of('tool.started')[0].toolName, 'echo');
  assert.ok(one.of('text.delta').length > 0);
  assert.deepEqual([...all.events, ...one.events].filter(({ type }) => /^(permission|question)/.test(type)), []);
  controller.abort();
  assert.deepEqual(await single, { reason: 'cancelled' });
  const headers = { authorization, 'content-type': 'application/json' };
  const body = JSON.stringify({ run: true, read: false });
  await fetch(`${runtime.origin}/v1/me/permissions`, { method: 'PUT', headers, body });
  assert.deepEqual(await ended, { reason: 'forbidden' });
  assert.deepEqual(await failure(agent.sessions()), ['PERMISSION_DENIED', 'reported']);
  assert.deepEqual(await failure(agent.observe({ all: true }, { onEvent() {} })), ['PERMISSION_DENIED', 'reported']);
  chat.close();
});

test('a key is told to nobody, and a runtime that is not there was sent nothing', async () => {
  const wrong = service({ apiKey: 'sk-very-secret' });
  const refused = await wrong.run({ text: 'hi' }).catch((error) => error);
  assert.deepEqual([refused.code, refused.disposition], ['INVALID_AUTH', 'not_dispatched']);
  const nowhere = service({ server: 'http://127.0.0.1:9' });
  const unreached = await nowhere.run({ text: 'hi' }).catch((error) => error);
  assert.deepEqual([unreached.code, unreached.disposition], ['NETWORK', 'not_dispatched']);
  for (const error of [refused, unreached]) assert.doesNotMatch(`${error.message} ${error.stack} ${JSON.stringify(error)}`, /secret|backend-key/);
  assert.doesNotMatch(runtime.output, /very-secret/);
  for (const [options, message] of [
    [{ apiKey: KEY }, /externalUserId/],
    [{ apiKey: 'a\nb', externalUserId: 'x' }, /characters/],
    [{}, /fetchAuthentication or getSession/],
  ]) assert.throws(() => createAgentClient({ server: runtime.origin, appUid: 'firm', ...options }), { code: 'invalid-config', message });
});

test('a connection that is lost after the call was sent: nobody knows, and nothing is sent again', async () => {
  const agent = service({ timing: { giveUp: 200, backoff: 20, backoffMax: 50 } });
  const { onEvent, events } = ear();
  const running = failure(agent.run({ text: 'hold three' }, { onEvent }));
  await model.holding('three');
  await runtime.process.stop('SIGKILL');
  assert.deepEqual(await running, ['AGENT_OUTCOME_UNKNOWN', 'unknown_after_dispatch']);
  assert.deepEqual(events.filter(({ type }) => type === 'turn.finished'), []);
  const asked = model.requests.length;
  await runtime.again();
  const { sessionId } = events[0];
  await until(async () => (await agent.session(sessionId)).state === 'idle', 'the turn to be over');
  assert.equal(model.requests.length, asked);
});
