// Everything a user can have at a runtime, and the ids of it: for tests that ask who gets at it.

import { randomUUID } from 'node:crypto';

import { until } from './wait.mjs';

/** Ids of things that nobody has; those of `had` are somebody's. */
export const ids = (had = {}) => ({
  user: `u-${randomUUID()}`,
  session: randomUUID(),
  upload: randomUUID(),
  /** A conversation with an answer: its run and the answer's id. */
  conversation: `c-${randomUUID()}`, run: `r-${randomUUID()}`, message: randomUUID(),
  /** A conversation whose run goes on, and what waits behind it. */
  talk: `c-${randomUUID()}`, live: `r-${randomUUID()}`, queued: `r-${randomUUID()}`,
  /** A conversation whose run asked for an approval. */
  asking: `c-${randomUUID()}`, asked: `r-${randomUUID()}`, interrupt: randomUUID(),
  ...had,
});

/** The body of a run. */
export const run = (threadId, runId, text = 'hello', { mindset, ...more } = {}) => ({
  threadId, runId, state: {}, tools: [], context: [], forwardedProps: mindset ? { mindset } : {},
  messages: [{ id: `m-${runId}`, role: 'user', content: text }], ...more,
});

/** The body of a run that answers an approval with yes. */
export const allowing = (threadId, runId, interruptId) => run(threadId, runId, '', {
  messages: [], resume: [{ interruptId, status: 'resolved', payload: { approved: true } }],
});

/** A form with a small picture. */
export function picture() {
  const form = new FormData();
  const bytes = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
  form.append('file', new Blob([bytes], { type: 'image/png' }), 'a.png');
  return form;
}

/**
 * Gives a new user one of everything, by `call(method, path, body)` with her token and
 * `backend(path, body)`. The agents are `quick`, `slow`, whose runs go on, and `asking`, whose
 * every call in `calls` needs an approval.
 */
export async function belongings({ call, backend, said, calls }) {
  const of = ids();
  of.token = (await backend('sdkusers/auth', { externalId: of.user })).authToken;
  of.session = (await backend('agentsessions', { agentUid: 'quick', externalUserId: of.user, tags: ['hers'] })).uid;
  const ask = async (method, path, body) => {
    const answer = await call(method, path, body, of.token);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.text && JSON.parse(answer.text);
  };
  of.upload = (await ask('POST', '/v1/uploads', picture())).uploadId;
  await ask('PUT', '/v1/me/permissions', { run: false, read: true });
  const begin = (agent, body) => ask('POST', `/v1/agents/${agent}/runs`, body);
  const read = (id) => ask('GET', `/v1/conversations/${id}`);
  await begin('quick', run(of.conversation, of.run, said));
  await begin('slow', run(of.talk, of.live));
  await begin('slow', run(of.talk, of.queued, 'and then', { mindset: { whenBusy: 'queue' } }));
  await begin('asking', run(of.asking, of.asked, JSON.stringify(calls)));
  of.message = await until(async () => {
    const { state, messages } = await read(of.conversation);
    return state === 'idle' && messages.at(-1).role === 'assistant' && messages.at(-1).id;
  }, 'the answer');
  of.interrupt = await until(async () => (await read(of.asking)).openInterrupts[0]?.id, 'the approval to be asked');
  return of;
}
