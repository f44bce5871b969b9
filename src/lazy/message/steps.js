// The lines about tool calls: what there is to know of one, and many that are done as one.

const ARROW = 'M9 6l6 6-6 6';
/** What came of them, the best first: its state and picture. */
const ENDS = [['done', 'M5 12.5l4.5 4.5L19 7.5'], ['failed', 'M7 7l10 10M17 7L7 17'], ['', 'M7 12h10']];

export class Steps {
  #kit;
  #parts;
  /** Which lines are opened, by their element. */
  #open = new WeakSet();

  constructor(kit, parts) {
    this.#kit = kit;
    this.#parts = parts;
  }

  /** Says more of a line: the tool's name, how long it took, and what a page's tool was given. */
  describe(line, name, details, duration) {
    const { add, icon, text } = this.#kit;
    for (const part of line.querySelectorAll('.fold, .facts')) part.remove();
    const facts = [[text('toolName'), name]];
    if (duration !== undefined) facts.push([text('toolTime'), time(duration, text)]);
    facts.push(...details);
    const button = add(line, 'button|type=button|part=tool__button|class=fold');
    this.#kit.label(button, text('details'));
    icon(button, ARROW);
    const list = add(line, 'dl|part=tool__details|class=facts');
    for (const [key, value] of facts) {
      add(list, 'dt|dir=auto', key);
      add(list, 'dd|dir=auto', value);
    }
    const show = () => {
      list.hidden = !this.#open.has(line);
      button.setAttribute('aria-expanded', !list.hidden);
    };
    button.addEventListener('click', () => {
      this.#open[this.#open.has(line) ? 'delete' : 'add'](line);
      show();
    });
    show();
  }

  /** Lines that stand together become one when the panel is at rest. */
  refresh() {
    const { frame, list } = this.#parts;
    if (frame.dataset.activity !== 'idle') return;
    let run = [];
    const end = () => {
      if (run.length > 1) this.#fold(run);
      run = [];
    };
    for (const line of list.querySelectorAll('.tool:not(.step)')) {
      if (run.length && line.previousElementSibling !== run.at(-1)) end();
      run.push(line);
    }
    end();
  }

  #fold(lines) {
    const { add, icon, text } = this.#kit;
    const box = document.createElement('div');
    const failed = lines.filter((line) => line.dataset.state === 'failed').length;
    box.className = 'steps';
    box.part = 'steps';
    const button = add(box, 'button|type=button|part=steps__button|class=fold|aria-expanded=false');
    icon(button, ARROW);
    icon(button, ENDS.find(([state]) => !state || lines.some((line) => line.dataset.state === state))[1]);
    const key = failed ? 'stepsFailed' : 'steps';
    add(button, 'span', text(key, { count: lines.length, failed }));
    const show = (isOpen) => {
      button.setAttribute('aria-expanded', isOpen);
      for (const line of lines) line.hidden = !isOpen;
    };
    button.addEventListener('click', () => show(button.getAttribute('aria-expanded') !== 'true'));
    for (const line of lines) line.classList.add('step');
    // What somebody is looking at stays open.
    const root = this.#kit.root.activeElement;
    show(lines.some((line) => this.#open.has(line) || line.contains(root)));
    lines[0].before(box);
  }
}

function time(duration, text) {
  const seconds = duration < 1_000 ? Math.round(duration / 100) / 10 : Math.round(duration / 1_000);
  return text('seconds', { seconds: Math.max(seconds, 0.1).toLocaleString() });
}
