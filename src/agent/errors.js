// What the agent API rejects with: its own codes, and how far a call came.

/** In Node codes are upper case, with underscores. */
export const isNode = Boolean(globalThis.process?.versions?.node);
export const coded = (code) => (isNode ? code.replaceAll('-', '_').toUpperCase() : code);

/** Words of the server's that have a name of their own here. */
const NAMED = ['agent-not-found', 'model-not-found', 'too-many-subscriptions'];
/** Nobody has said what became of it. */
const LOST = ['network', 'timeout', 'protocol'];

const UNKNOWN =
  'The connection was lost after the call was sent, so its turn may have run. Look at the session with session() before anything is sent again.';

/** The errors of one client, of the class that the page knows. */
export class Errors {
  #Error;

  constructor(MindsetError) {
    this.#Error = class AgentError extends MindsetError {
      constructor({ disposition, ...info }) {
        super(info);
        this.name = 'AgentError';
        this.disposition = disposition;
      }
    };
  }

  /** One of this side, before anything was sent unless it says otherwise. */
  make(code, message, { disposition = 'not_dispatched', retryable = false, context } = {}) {
    return new this.#Error({ code: coded(code), message, retryable, context, disposition });
  }

  invalid(message) {
    return this.make('invalid-request', message);
  }

  cancelled(disposition = 'not_dispatched') {
    return this.make('cancelled', 'The call was cancelled before its turn began.', { disposition });
  }

  noRequest() {
    return this.make('request_not_found', 'This is not open any more: it was answered already, or its turn has ended.', { disposition: 'reported' });
  }

  noSession() {
    return this.make('session_not_found', 'The application has no session with this id. Take the sessionId of an event or a result.', { disposition: 'reported' });
  }

  /** Of what another part says; `missing` names what a 404 misses. */
  of(info, { missing = 'session_not_found', disposition = 'reported' } = {}) {
    if (info instanceof this.#Error) return info;
    const { code = 'internal', message, retryable = false, context } = info;
    const named = nameOf(code, context, missing);
    return this.make(named, message, { disposition, retryable, context });
  }

  /** A failed `attempt` to run a turn: refused, never sent, or lost. */
  ofTurn(info, { wasPosted, isKnown }) {
    const isOver = info.context?.outcome === 'unknown' || LOST.includes(info.code);
    // Something between here and the server has answered, or nobody.
    const isFar = info.code === 'server-error' && info.context?.status !== undefined;
    if (wasPosted && (isOver || isFar || !isKnown)) {
      return this.make('agent_outcome_unknown', `${UNKNOWN} ${info.message}`, { disposition: 'unknown_after_dispatch', context: info.context });
    }
    return this.of(info, { disposition: wasPosted ? 'reported' : 'not_dispatched' });
  }
}

function nameOf(code, context, missing) {
  if (NAMED.includes(code)) return code.replaceAll('-', '_');
  if (code === 'not-found' || code === 'gone') return missing;
  if (code === 'rate-limited' && context?.reason === 'queue-full') return 'queue_full';
  if (code === 'forbidden' && context?.permission) return 'permission_denied';
  const asks = code === 'busy' && context?.openInterrupts?.some(({ reason }) => reason === 'input_required');
  return asks ? 'question_pending' : code;
}
