// Watching conversations: one stream that is opened again when it breaks, until somebody ends it.

import { line } from './line.js';

/** No byte for this long ends a stream as broken, and pauses before it is opened again, in milliseconds. */
const TIMES = { heartbeat: 45_000, backoff: 1_000, backoffMax: 30_000 };

/** Tells `onEvent` what the runtime says; resolves with `{ reason }` when it ends. */
export async function observe(job, { requests, query, onEvent, timing }) {
  const times = { ...TIMES, ...timing };
  const leave = line.observe();
  let cancelled;
  const ended = new Promise((resolve) => (cancelled = () => resolve({ reason: 'cancelled' })));
  job.endBy(cancelled);
  try {
    return await Promise.race([ended, read(job.signal, { requests, query, onEvent, times })]);
  } finally {
    leave();
  }
}

async function read(signal, { requests, query, onEvent, times }) {
  let pause = 0;
  for (let isFirst = true; ; isFirst = false) {
    try {
      const response = await requests.open(`/v1/observe?${query}`, { accept: 'text/event-stream', signal });
      const reason = await events(response.body, { signal, silence: times.heartbeat }, (event) => {
        pause = 0;
        if (!signal.aborted) tell(onEvent, event);
      });
      if (reason) return { reason };
    } catch (error) {
      // What the runtime refuses it refuses again; a connection comes back.
      if (isFirst || signal.aborted || error.disposition === 'reported') throw error;
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, pause * (0.5 + Math.random() / 2));
      signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
    });
    if (signal.aborted) return { reason: 'cancelled' };
    pause = Math.min(pause ? pause * 2 : times.backoff, times.backoffMax);
  }
}

function tell(onEvent, event) {
  try {
    onEvent(Object.freeze(event));
  } catch (error) {
    console.error(error);
  }
}

/** Reads a stream until it breaks, or says why it ends. */
export async function events(body, { signal, silence }, hear) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), silence);
      if (done || signal?.aborted) return undefined;
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const { event, data } = fields(block);
        if (!data) continue;
        const said = JSON.parse(data);
        // A runtime that restarts is there again soon.
        if (event === 'end') return said.reason === 'closing' ? undefined : (said.reason ?? 'ended');
        hear(said);
      }
    }
  } catch {
    return undefined;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function within(promise, millis) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error('silent')), millis)));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The fields of one event, which the runtime writes with LF and one `data` line. */
function fields(block) {
  const found = {};
  for (const text of block.split('\n')) {
    const [, name, value] = /^(event|data): ?(.*)$/.exec(text) ?? [];
    if (name) found[name] = value;
  }
  return found;
}
