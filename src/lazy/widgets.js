// Widgets: what tools show, drawn natively from the theme. `schema/widgets.json` is the
// vocabulary. Loaded with the first widget; until then, and of what cannot be drawn, the row
// keeps the summary.

import { choices, form } from './widgets/ask.js';
import { card, list, progress } from './widgets/cards.js';
import { chart } from './widgets/chart.js';
import { Parts, table } from './widgets/parts.js';
import * as read from './widgets/read.js';
import css from './widgets/widgets.css';

const KINDS = new Map(Object.entries({ card, list, table, form, choices, chart, progress }));

/** How one widget is used: what was chosen, what is being filled in, what is sent. */
class Use {
  /** Whether it takes an answer, and more than one. */
  isAsking = false;
  repeats = false;
  /** The words of what was chosen. */
  chosen;
  #send;
  #drafts;
  #id;

  constructor(id, { answer, summary }, drafts, send) {
    this.answer = answer;
    this.summary = summary;
    this.#id = id;
    this.#drafts = drafts;
    this.#send = send;
  }

  takes(repeats) {
    this.isAsking = true;
    this.repeats = repeats === true;
  }

  get locked() {
    return this.answer !== undefined && !this.repeats;
  }

  /** What a person has begun, when the widget is drawn anew. */
  get draft() {
    return this.#drafts.get(this.#id);
  }

  keep(draft) {
    this.#drafts.set(this.#id, draft);
  }

  act(action, payload) {
    this.#send({ widgetId: this.#id, action, payload });
  }
}

/**
 * `draw(row, summary, id, widget)`: draws a widget into a row, in the place of its summary and
 * of the widget as it was before. One that cannot be drawn leaves the summary.
 */
export default function widgets(kit) {
  const { add, style, tell, text } = kit;
  const parts = new Parts(kit);
  const drafts = new Map();
  style(css);

  /** Says what became of it, once it was used. */
  function tellAnswer(box, { answer, chosen, isAsking }) {
    if (!answer || !isAsking) return;
    const words = chosen === undefined ? text('sent') : text('chosen', { choice: chosen });
    add(box, 'p|part=widget__answer|class=widget-answer|dir=auto', words);
  }

  /** The widget's element; nothing if it cannot be drawn. */
  function make(id, widget) {
    const kind = KINDS.get(widget.kind);
    if (!kind) return undefined;
    const box = document.createElement('div');
    const notice = document.createElement('p');
    const use = new Use(id, widget, drafts, (action) => {
      notice.textContent = '';
      if (!tell('widget', JSON.stringify(action))) notice.textContent = text('widgetBusy');
    });
    box.className = 'widget';
    box.part = `widget widget--${widget.kind}`;
    try {
      kind(parts, box, read.document(widget.doc), use);
    } catch {
      // Whatever is wrong with it, the summary says what it should.
      return undefined;
    }
    tellAnswer(box, use);
    notice.className = 'widget-error';
    notice.setAttribute('role', 'status');
    if (use.isAsking) box.append(notice);
    return box;
  }

  return (row, summary, id, widget) => {
    const before = row.querySelector(':scope > .widget');
    const stood = before?.contains(row.getRootNode().activeElement);
    const box = make(id, widget);
    before?.remove();
    summary.hidden = Boolean(box);
    if (!box) return;
    summary.after(box);
    if (!stood) return;
    // What had the focus is gone or locked.
    box.tabIndex = -1;
    box.focus({ preventScroll: true });
  };
}
