// The later part of one instance: what nobody needs before the first message. It shares memory
// and table with the first part, and is loaded when the page has come to rest, or at the first
// need. A call that comes before it has it loaded while everything waits.

/** Pauses between tries while somebody waits, in milliseconds: doubled up to the longest. */
const PAUSE = 500;
const LONGEST = 30_000;

/** What the page can see of calls that came too early. */
export const EARLY = 'mindset-agent:early';

export class Later {
  isThere = false;
  /** Somebody asked for it. */
  isWanted = false;
  /** Who keeps what the page has set until then: no message may overtake it. */
  holders = new Set();
  #get;
  #getNow;
  #failed;
  #imports;
  #ended = false;
  #loading;

  /**
   * `get` gives the compiled part, `getNow` the same before it returns; `failed` hears of each
   * try that failed.
   */
  constructor(get, getNow, failed) {
    this.#get = get;
    this.#getNow = getNow;
    this.#failed = failed;
  }

  /** What the first part imports. */
  imports(own) {
    return (this.#imports = { ...own, l: { l: () => this.#addNow() } });
  }

  /** The first part is there. */
  join(exports) {
    this.#imports.p = exports;
  }

  /** Resolves when it is there. */
  load() {
    this.isWanted = true;
    return (this.#loading ??= this.#try());
  }

  /** The instance is lost. */
  end() {
    this.#ended = true;
  }

  async #try() {
    for (let pause = PAUSE; !this.isThere && !this.#ended; pause = Math.min(2 * pause, LONGEST)) {
      try {
        const module = await this.#get();
        if (!this.isThere) this.#add(module);
      } catch (error) {
        this.#failed(error);
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  #add(module) {
    new WebAssembly.Instance(module, this.#imports);
    this.isThere = true;
  }

  // The call cannot go on without it, nor can the instance then: it ends like after a trap.
  #addNow() {
    performance.mark(EARLY, { detail: new Error().stack });
    try {
      this.#add(this.#getNow());
    } catch ({ code, message, retryable, context }) {
      throw Object.assign(new WebAssembly.RuntimeError(message), { code, retryable, context });
    }
  }
}
