// Calls under way: each has a name by which it is cancelled, and comes to one end.

/** What is under way in one client. */
export class Jobs {
  #open = new Map();
  #errors;

  constructor(errors) {
    this.#errors = errors;
  }

  /** Does `work(job)`, which is cancelled by its name or by a signal. */
  async run({ requestId, signal }, work) {
    if (requestId !== undefined && (typeof requestId !== 'string' || !requestId)) throw this.#errors.invalid('requestId is a text that names the call for cancel().');
    if (signal !== undefined && !(signal instanceof AbortSignal)) throw this.#errors.invalid('signal is the signal of an AbortController.');
    if (this.#open.has(requestId)) throw this.#errors.invalid('A call with this requestId is under way. Give each its own.');
    if (signal?.aborted) throw this.#errors.cancelled();
    const job = new Job(this.#errors.cancelled());
    const cancel = () => job.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const name = requestId ?? Symbol('a call');
    this.#open.set(name, job);
    const done = work(job);
    // Whoever is cancelled does not wait for what is left of the work.
    done.catch(() => {});
    job.done = done;
    try {
      return await Promise.race([done, job.givenUp]);
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#open.delete(name);
    }
  }

  /** Ends the call with this name; resolves when it has come to its end. */
  async cancel(requestId) {
    const job = this.#open.get(requestId);
    if (!job) return false;
    job.cancel();
    await Promise.race([job.done, job.givenUp]).catch(() => {});
    return true;
  }
}

/** One call. Until it says how it is stopped it is given up at once. */
class Job {
  isCancelled = false;
  #error;
  #giveUp;
  #stop;
  #controller = new AbortController();
  givenUp = new Promise((_, reject) => (this.#giveUp = reject));

  constructor(error) {
    this.#error = error;
    this.givenUp.catch(() => {});
  }

  /** Aborted when the call is cancelled. */
  get signal() {
    return this.#controller.signal;
  }

  /** From now on it is ended by `stop`, and comes to its end by itself then. */
  endBy(stop) {
    if (this.isCancelled) throw this.#error;
    this.#stop = stop;
  }

  cancel() {
    if (this.isCancelled) return;
    this.isCancelled = true;
    this.#controller.abort(this.#error);
    if (this.#stop) this.#stop();
    else this.#giveUp(this.#error);
  }
}
