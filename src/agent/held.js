// A session of the core for the turns of one session of the application's, without a panel.

/** Events of a run, which begins with what was decided. */
const HEARD = ['text_delta', 'thinking_delta', 'tool_start', 'tool_end'];

/** As long as a turn runs in it, or it holds words that the runtime gets with those that are missing. */
export class Held {
  calls;
  /** What is asked here: questionnaires that wait for answers. */
  questions = new Set();
  /** Somebody has decided something that the runtime has not heard. */
  hasWords = false;
  /** Whether somebody was promised to answer approvals. */
  answers;
  /** Resolves when it shows what is stored. */
  opened;
  /** Who waits for something of it. */
  users = 0;
  /** Who hears what it says. */
  hear = () => {};
  #client;

  /** `connect(hear)` gives the client; `fail(info)` makes errors. */
  constructor(connect, answers, fail) {
    this.answers = answers;
    this.opened = new Promise((resolve, reject) => {
      const open = (event) => {
        if (event.type === 'history_settled') resolve();
        else if (event.type === 'error') reject(fail(event));
        this.#note(event);
        this.hear(event);
      };
      this.#client = connect(open);
    });
    // Whoever runs a turn hears of it by its result.
    this.opened.catch(() => {});
    this.calls = this.#client.calls;
  }

  #note({ type, questionId }) {
    if (type === 'question_requested') this.questions.add(questionId);
    if (type === 'permission_resolved') this.hasWords = true;
    if (HEARD.includes(type)) this.hasWords = false;
  }

  close() {
    this.#client.close();
  }
}
