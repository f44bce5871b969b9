// Questions to the person, one step at a time: chosen, written, skipped or dismissed as a whole.

import css from 'mindset-styles/questionnaire.css';

import { readStorage, writeStorage } from '../effects/browser.js';

const CROSS = 'M6 6l12 12M18 6L6 18';
/** Characters of a written answer, as the runtime takes them. */
const LONGEST = 4_000;

/** What was answered so far, by the element and the questionnaire: a panel may be drawn anew. */
const drafts = new WeakMap();
/** The same for the next page load of this tab. */
const KEPT = 'mindset:answers:';
let ids = 0;

function draftOf(host, id) {
  if (!drafts.has(host)) drafts.set(host, new Map());
  const known = drafts.get(host);
  if (!known.has(id)) known.set(id, readDraft(id));
  return known.get(id);
}

function readDraft(id) {
  try {
    const [at, answers] = JSON.parse(readStorage(KEPT + id) ?? '[0, []]');
    return { at: Number(at) || 0, answers: new Map(answers) };
  } catch {
    return { at: 0, answers: new Map() };
  }
}

/** Draws a questionnaire into its card. What a server sent is taken as it is: texts, and no more. */
export default function questionnaire(kit, card, given) {
  kit.style(css);
  new Asking(kit, card, given).draw(true);
}

class Asking {
  #kit;
  #card;
  #id;
  #title;
  #steps;
  #draft;

  constructor(kit, card, { title, steps }) {
    this.#kit = kit;
    this.#card = card;
    this.#id = card.dataset.question;
    this.#title = typeof title === 'string' ? title : '';
    this.#steps = (Array.isArray(steps) ? steps : []).filter((step) => typeof step?.question === 'string');
    this.#draft = draftOf(kit.host, this.#id);
    card.classList.add('asks');
    kit.label(card, this.#title || kit.text('questions'));
  }

  /** Draws the step that is due. The first one is read out, those the person goes to take the focus. */
  draw(isFirst) {
    const { add, icon, label, text } = this.#kit;
    const step = this.#steps[(this.#draft.at = Math.min(this.#draft.at, this.#steps.length - 1))];
    this.#card.textContent = '';
    const top = add(this.#card, 'div|class=asks-top');
    const words = add(top, 'div|class=asks-head');
    if (this.#title) add(words, 'p|part=question__title|dir=auto', this.#title);
    if (this.#steps.length > 1) {
      const count = this.#steps.length;
      add(words, 'p|part=question__progress|class=asks-progress', text('questionOf', { at: this.#draft.at + 1, count }));
      const bar = add(this.#card, 'progress|class=asks-bar|aria-hidden=true');
      bar.max = count;
      bar.value = this.#draft.at + 1;
    }
    const close = add(top, 'button|type=button|part=question__dismiss|class=asks-close');
    icon(close, CROSS);
    label(close, text('dismiss'));
    close.addEventListener('click', () => this.#tell(''));
    if (step) this.#drawStep(step, isFirst);
  }

  #drawStep(step, isFirst) {
    const { add, text } = this.#kit;
    const form = add(this.#card, 'form');
    form.noValidate = true;
    const set = add(form, 'fieldset');
    const legend = add(set, 'legend|part=question__text|dir=auto|tabindex=-1');
    // What appears in an alert is read out at once.
    add(legend, isFirst ? 'span|role=alert' : 'span', step.question);
    if (step.required) add(legend, 'span|class=asks-star|aria-hidden=true', ' *');
    if (typeof step.description === 'string') add(set, 'p|class=asks-hint|dir=auto', step.description);
    const answer = this.#drawAnswer(step, set);
    // What is ticked and not sent stays, whichever way the person goes on.
    const note = () => {
      this.#draft.answers.set(step.id, answer.note());
      this.#keep();
    };
    for (const name of ['change', 'input']) form.addEventListener(name, note);
    const error = add(set, 'p|part=question__error|class=asks-error|role=alert|hidden');
    const row = add(form, 'div|class=words');
    const button = (words, act) => {
      add(row, 'button|type=button|part=question__button', words).addEventListener('click', act);
    };
    const { at } = this.#draft;
    if (at > 0) button(text('back'), () => this.#go(at - 1));
    if (step.required !== true) {
      button(text('skip'), () => {
        this.#draft.answers.set(step.id, { skipped: true });
        this.#on();
      });
    }
    const isLast = at + 1 === this.#steps.length;
    add(row, 'button|type=submit|part=question__button question__button--send|class=asks-send', text(isLast ? 'send' : 'next'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const given = answer.read();
      if (!given) {
        error.hidden = false;
        error.textContent = text(answer.isWritten ? 'fieldMissing' : 'chooseOne');
        return answer.first.focus();
      }
      this.#draft.answers.set(step.id, given);
      this.#on();
    });
    if (!isFirst) legend.focus({ preventScroll: true });
  }

  /** The options, and a place to write. `read()` gives the answer, nothing if there is none. */
  #drawAnswer(step, set) {
    const { add, label, text } = this.#kit;
    const options = (Array.isArray(step.options) ? step.options : []).filter((option) => typeof option?.label === 'string');
    const many = step.selectionMode === 'multiple';
    const kept = this.#draft.answers.get(step.id);
    const name = `asks-${(ids += 1)}`;
    const list = add(set, 'div|class=asks-options');
    const choice = (words, isChosen) => {
      const row = add(list, 'label|part=question__option|class=asks-option');
      const input = add(row, `input|type=${many ? 'checkbox' : 'radio'}`);
      input.name = name;
      input.checked = Boolean(isChosen);
      const said = add(row, 'span|class=asks-words');
      add(said, 'span|dir=auto', words);
      return { input, said };
    };
    const inputs = options.map((option) => {
      const { input, said } = choice(option.label, kept?.selectedOptionIds?.includes(option.id));
      if (option.recommended === true) add(said, 'span|class=asks-mark', text('recommended'));
      if (typeof option.description === 'string') add(said, 'span|class=asks-hint|dir=auto', option.description);
      return input;
    });
    const writes = !options.length || step.allowOther === true;
    const other = options.length && writes ? choice(text('other'), kept?.otherText || kept?.isOther).input : undefined;
    const box = writes && add(set, 'textarea|part=question__input|class=asks-input|rows=2|dir=auto');
    if (box) {
      box.maxLength = LONGEST;
      box.value = kept?.otherText ?? '';
      label(box, other ? text('other') : step.question);
      const show = () => (box.hidden = Boolean(other) && !other.checked);
      show();
      list.addEventListener('change', () => {
        const was = box.hidden;
        show();
        if (was && !box.hidden) box.focus({ preventScroll: true });
      });
    }
    const said = () => {
      const selectedOptionIds = options.filter((_, at) => inputs[at].checked).map(({ id }) => id);
      const otherText = box && !box.hidden && box.value.trim() ? box.value : undefined;
      return { ...(selectedOptionIds.length && { selectedOptionIds }), ...(otherText && { otherText }) };
    };
    return {
      first: inputs[0] ?? box,
      isWritten: !options.length,
      note: () => ({ ...said(), isOther: Boolean(other?.checked) }),
      read() {
        const given = said();
        return Object.keys(given).length ? given : undefined;
      },
    };
  }

  /** To the next step, or all answers to the agent. */
  #on() {
    const { at, answers } = this.#draft;
    if (at + 1 < this.#steps.length) return this.#go(at + 1);
    this.#tell(JSON.stringify(this.#steps.map(({ id }) => ({ stepId: id, ...(answers.get(id) ?? { skipped: true }) }))));
  }

  #go(at) {
    this.#draft.at = at;
    this.#keep();
    this.draw();
  }

  #keep() {
    const { at, answers } = this.#draft;
    if (!this.#kit.host.forgetDrafts) writeStorage(KEPT + this.#id, JSON.stringify([at, [...answers]]));
  }

  /** Answers, or with nothing dismisses it. The card stays where that is refused. */
  #tell(answers) {
    if (!this.#kit.tell('answer', `${this.#id}\n${answers}`)) return;
    drafts.get(this.#kit.host).delete(this.#id);
    writeStorage(KEPT + this.#id);
  }
}
