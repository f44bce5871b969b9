// People decide: the official AG-UI client, which knows nothing of this runtime, sees approvals and
// questions as standard interrupts and resumes them, with the tools of a real MCP server.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';

import { buildResumeArray, HttpAgent } from '@ag-ui/client';

import { configOf } from '../support/config.mjs';
import { asking, everything } from '../support/mcp.mjs';
import { Runtime } from '../support/runtime.mjs';
import { callingModel } from '../support/turns.mjs';

let models;
let reference;
let form;
let runtime;

before(async () => {
  [models, reference, form] = await Promise.all([callingModel(), everything(), asking()]);
  runtime = await Runtime.start({
    config: configOf({
      model: `${models.url}/v1`, app: { uid: 'demo', api_keys: ['backend-key'] },
      servers: [
        { uid: 'everything', url: reference.url, read_only: ['get-*', 'trigger-elicitation-request'] },
        { uid: 'rooms', url: form.url, read_only: ['*'] },
      ],
      agents: [{ uid: 'demo', approve_writes: true, ask_user: true }],
    }),
  });
});
after(async () => {
  await runtime?.stop();
  await Promise.all([models?.stop(), reference?.stop(), form?.stop()]);
});

/** A client of a new user. */
async function client() {
  const headers = { Authorization: `Bearer ${await runtime.token()}` };
  return new HttpAgent({ url: `${runtime.origin}/v1/agents/demo/runs`, threadId: randomUUID(), headers });
}

/** One run; gives its events. */
async function run(agent, { say, resume } = {}) {
  const events = [];
  if (say) agent.addMessage({ id: randomUUID(), role: 'user', content: JSON.stringify(say) });
  await agent.runAgent({ runId: randomUUID(), resume }, { onEvent: ({ event }) => { events.push(event); } });
  return events;
}

const resultOf = (events, id) => events.find((e) => e.type === 'TOOL_CALL_RESULT' && e.toolCallId === id);

test('an approval is an interrupt: allowed, the call runs as it was shown', async () => {
  const agent = await client();
  const first = await run(agent, {
    say: [['everything__echo', { message: 'hello' }], ['everything__get-sum', { a: 1, b: 2 }]],
  });
  const { outcome } = first.at(-1);
  assert.equal(outcome.type, 'interrupt');
  assert.equal(agent.pendingInterrupts.length, 1);
  const [asked] = agent.pendingInterrupts;
  assert.equal(asked.reason, 'tool_call');
  assert.equal(asked.metadata.mindset.toolName, 'echo');
  assert.deepEqual(asked.metadata.mindset.toolInput, { message: 'hello' });
  assert.deepEqual(asked.responseSchema.required, ['approved']);
  assert.equal(resultOf(first, asked.toolCallId), undefined, 'it has not run');
  assert.equal(first.filter((e) => e.type === 'TOOL_CALL_RESULT').length, 1, 'what needs no word has');

  const resume = buildResumeArray(agent.pendingInterrupts, {
    [asked.id]: { status: 'resolved', payload: { approved: true } },
  });
  const second = await run(agent, { resume });
  assert.equal(resultOf(second, asked.toolCallId).content, 'Echo: hello');
  assert.equal(second.at(-1).outcome.type, 'success');
  assert.deepEqual(agent.pendingInterrupts, []);
  assert.equal(agent.messages.at(-1).content, 'Done.');
});

test('denied, it does not run, and the model is told', async () => {
  const agent = await client();
  await run(agent, { say: [['everything__echo', { message: 'no' }]] });
  const [asked] = agent.pendingInterrupts;
  const resume = [{ interruptId: asked.id, status: 'resolved', payload: { approved: false } }];
  const events = await run(agent, { resume });
  const result = resultOf(events, asked.toolCallId);
  assert.match(result.content, /declined this call/);
  assert.equal(result.metadata.mindset.declined, true);
  assert.equal(agent.messages.at(-1).content, 'Done.');
});

test('questions are an interrupt: answered, the model reads the labels', async () => {
  const agent = await client();
  const steps = [{ id: 'room', question: 'Which room?', options: [{ id: 'a', label: 'Atrium' }, { id: 'b', label: 'Bay' }] }];
  await run(agent, { say: [['ask_user', { title: 'A room', steps }]] });
  const [asked] = agent.pendingInterrupts;
  assert.equal(asked.reason, 'input_required');
  const { questionnaire } = asked.metadata.mindset;
  assert.equal(questionnaire.id, asked.id);
  assert.deepEqual(questionnaire.steps.map(({ id, required }) => [id, required]), [['room', true]]);
  const payload = { answers: [{ stepId: 'room', selectedOptionIds: ['b'] }] };
  const events = await run(agent, { resume: [{ interruptId: asked.id, status: 'resolved', payload }] });
  assert.deepEqual(JSON.parse(resultOf(events, asked.toolCallId).content).answers[0].selected, ['Bay']);
  assert.equal(events.at(-1).outcome.type, 'success');
});

test('what a tool asks is a questionnaire; accept, decline and cancel arrive at its server', async () => {
  const agent = await client();
  const ask = async () => {
    await run(agent, { say: [['rooms__reserve', { room: 'Bay' }]] });
    return agent.pendingInterrupts[0];
  };
  const answer = (asked, entry) => run(agent, { resume: [{ interruptId: asked.id, ...entry }] });
  const given = (seats) => ({
    status: 'resolved',
    payload: {
      answers: [
        { stepId: '0', otherText: 'Ann' },
        { stepId: '1', otherText: seats },
        { stepId: '2', selectedOptionIds: ['1'] },
      ],
    },
  });
  let asked = await ask();
  assert.equal(asked.reason, 'input_required');
  const { questionnaire, toolName } = asked.metadata.mindset;
  assert.deepEqual([toolName, questionnaire.title], ['reserve', 'Who reserves Bay?']);
  assert.deepEqual(questionnaire.steps.map((step) => [step.question, step.required]), [['Your name', true], ['Seats', true], ['Day', false]]);
  assert.deepEqual(questionnaire.steps[2].options.map((option) => option.label), ['Monday', 'Tuesday']);

  await answer(asked, given('a few'));
  const [again] = agent.pendingInterrupts;
  assert.notEqual(again.id, asked.id, 'what does not fit is asked again');
  assert.match(again.metadata.mindset.questionnaire.steps[1].description, /whole number/);
  await runtime.process.stop();
  await runtime.again();
  const events = await answer(again, given('3'));
  assert.equal(resultOf(events, again.toolCallId).content, 'Bay is reserved for Ann.');

  asked = await ask();
  await answer(asked, { status: 'resolved', payload: { declined: true } });
  asked = await ask();
  await answer(asked, { status: 'cancelled' });
  assert.deepEqual(form.answers, [
    { action: 'accept', content: { name: 'Ann', seats: 3, day: 'tu' } },
    { action: 'decline', content: undefined },
    { action: 'cancel', content: undefined },
  ]);
});

test('what a server of 2025-11-25 asks over the open call: accept, decline and cancel arrive, and a restart ends it', async () => {
  const agent = await client();
  const ask = async () => {
    await run(agent, { say: [['everything__trigger-elicitation-request', {}]] });
    return agent.pendingInterrupts[0];
  };
  const answer = async (asked, entry) => {
    const events = await run(agent, { resume: [{ interruptId: asked.id, ...entry }] });
    return resultOf(events, asked.toolCallId).content;
  };
  const given = { status: 'resolved', payload: { answers: [
    { stepId: '0', otherText: 'Ann' }, { stepId: '1', selectedOptionIds: ['yes'] }, { stepId: '6', otherText: '7' },
  ] } };
  let asked = await ask();
  assert.equal(asked.reason, 'input_required');
  const { questionnaire, toolName } = asked.metadata.mindset;
  assert.equal(toolName, 'trigger-elicitation-request');
  assert.equal(questionnaire.title, 'Please provide inputs for the following fields:');
  assert.equal(questionnaire.steps.filter((step) => step.required).length, 1);
  const said = await answer(asked, given);
  assert.match(said, /User provided[\s\S]*Name: Ann[\s\S]*Agreed to terms: true[\s\S]*Favorite Integer: 7/);
  asked = await ask();
  assert.match(await answer(asked, { status: 'resolved', payload: { declined: true } }), /User declined/);
  asked = await ask();
  assert.match(await answer(asked, { status: 'cancelled' }), /User cancelled/);
  asked = await ask();
  await runtime.process.stop();
  await runtime.again();
  assert.match(await answer(asked, given), /connection over which it waited was lost/);
});
