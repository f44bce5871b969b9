// Who may hold a stream: a browser has six connections to a server, and one that waits for a
// seventh waits for ever.

/** Streams that a page holds at once; a process has no such bound. */
const STREAMS = globalThis.document ? 4 : Infinity;

/** Calls of one page, in order. */
export class Line {
  #running = 0;
  #observing = 0;
  #waiting = [];

  /** Resolves when there is room; `place(position)` hears where the call stands until then. Gives what makes room again. */
  async enter(place, signal) {
    if (this.#running < this.#room) {
      this.#running += 1;
    } else {
      await new Promise((resolve, reject) => {
        const entry = { resolve, place };
        this.#waiting.push(entry);
        place(this.#waiting.length);
        signal.addEventListener('abort', () => {
          this.#waiting = this.#waiting.filter((other) => other !== entry);
          this.#tellPlaces();
          reject(signal.reason);
        }, { once: true });
      });
    }
    return () => {
      this.#running -= 1;
      this.#move();
    };
  }

  /** An observer holds a stream; gives what ends that. */
  observe() {
    this.#observing += 1;
    return () => {
      this.#observing -= 1;
      this.#move();
    };
  }

  /** Observers never keep turns from running. */
  get #room() {
    return Math.max(1, STREAMS - this.#observing);
  }

  #move() {
    while (this.#waiting.length && this.#running < this.#room) {
      this.#running += 1;
      this.#waiting.shift().resolve();
      this.#tellPlaces();
    }
  }

  #tellPlaces() {
    this.#waiting.forEach(({ place }, at) => place(at + 1));
  }
}

/** All clients of the page share it. */
export const line = new Line();
