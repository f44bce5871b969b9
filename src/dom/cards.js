// Lines about tool calls, and questions that wait for a person's word.

/** How a tool call stands: the key of what screen readers hear before its words, and its picture. */
const CALLS = {
  asking: ['toolAsking', 'M12 7.5V12l3 2m6-2a9 9 0 1 1-18 0 9 9 0 0 1 18 0'],
  running: ['toolRunning', 'M12 3a9 9 0 1 1-9 9'],
  done: ['toolDone', 'M5 12.5l4.5 4.5L19 7.5'],
  failed: ['toolFailed', 'M7 7l10 10M17 7L7 17'],
  stopped: ['toolStopped', 'M7 12h10'],
};
/** What the runtime says of a call that hands work to another agent. */
const DELEGATED = /^Delegated to (.+)$/s;
/** What a person says to a question. */
const WORDS = ['deny', 'allowOnce'];

/** The cards of one transcript. */
export class Cards {
  #kit;
  #rows;
  #calls = new Map();
  /** Calls that are not at their end. */
  #open = new Set();
  #questions = new Map();

  constructor(kit, rows) {
    this.#kit = kit;
    this.#rows = rows;
  }

  clear() {
    for (const known of [this.#calls, this.#open, this.#questions]) known.clear();
  }

  /** Whether a line turns or waits. */
  get works() {
    return this.#open.size > 0;
  }

  /** A line about a tool call, at the end or where it is; gives it. */
  setTool(id, state, words) {
    const { add, icon, text } = this.#kit;
    let line = this.#calls.get(id);
    if (!line) this.#calls.set(id, (line = add(this.#rows.page, 'div|part=tool|class=tool')));
    const [said, path] = CALLS[state];
    line.dataset.state = state;
    line.textContent = '';
    icon(line, path);
    add(line, 'span|class=unseen', `${text(said)}: `);
    add(line, 'span|part=tool__text|dir=auto', words.replace(DELEGATED, (_, name) => text('delegated', { name })));
    this.#open[state === 'running' || state === 'asking' ? 'add' : 'delete'](id);
    return line;
  }

  /** The line about a tool call, if there is one. */
  line(id) {
    return this.#calls.get(id);
  }

  /** Asks the person. Nothing takes the focus; what is asked is read out at once. */
  addQuestion(id, question, details) {
    const { add, label, text } = this.#kit;
    const card = this.hold(id);
    label(card, question);
    add(card, 'p|part=question__text|role=alert|dir=auto', question);
    if (details.length) {
      // It scrolls, so keys must reach it.
      const box = add(card, 'div|part=question__details|class=details|role=group|tabindex=0');
      label(box, text('details'));
      const list = add(box, 'dl');
      for (const [name, value] of details) {
        add(list, 'dt|dir=auto', name);
        add(list, 'dd|dir=auto', value);
      }
    }
    const words = add(card, 'div|class=words');
    for (const name of WORDS) {
      add(words, `button|type=button|part=question__button question__button--${name}|data-do=${name}`, text(name));
    }
  }

  /** An empty card for something that is asked. */
  hold(id) {
    const card = this.#kit.add(this.#rows.page, 'div|part=question|class=card question|role=group');
    card.dataset.question = id;
    this.#questions.set(id, card);
    return card;
  }

  /** Takes a question away and gives its card, if it was there. */
  removeQuestion(id) {
    const card = this.#questions.get(id);
    card?.remove();
    this.#questions.delete(id);
    return card;
  }
}
