// The text box with its button: drafts, and editing a message that was sent.

import { readStorage, writeStorage } from '../effects/browser.js';

/** What browsers report for keys that belong to an input method. */
const INPUT_METHOD = 229;
/** Characters of a message, as the server counts them; near the limit a counter shows. */
const LIMIT = 100_000;
const NEAR = 0.9 * LIMIT;

/**
 * A key of the person's own: pressed without a modifier, and not one of an input method. The
 * Enter that picks a candidate sends nothing, and in one browser comes after the composition
 * ended.
 */
export function isPlain(event) {
  const { ctrlKey, altKey, metaKey, isComposing, keyCode } = event;
  return !ctrlKey && !altKey && !metaKey && !isComposing && keyCode !== INPUT_METHOD;
}

/** How many characters a text has; half of a pair of surrogates is none of its own. */
function length(text) {
  return text.length > NEAR ? [...text].length : text.length;
}

/** What the person writes. `tell(name, text)` is false if it was refused. */
export class Composer {
  #kit;
  #tell;
  #element;
  #button;
  #later;
  #note;
  #count;
  #busy = false;
  #stopping = false;
  #isLong = false;
  /** Why nothing can be written, if so. */
  #closed;
  /** The message that is edited, and the draft that waits meanwhile. */
  #edited;
  #aside = '';
  /** Whether messages to a busy agent wait on the server. */
  lines = false;
  /** Where the draft outlives a reload. */
  #key;
  /** What of it was found there: if it was not touched it stays with its conversation. */
  #read = '';
  #composing = false;
  /** What is attached to the draft, once people may attach something. */
  files;
  /** Whether the text box had the focus last. */
  focused = false;

  constructor(kit, frame, tell) {
    const { add, icon, label, text } = (this.#kit = kit);
    this.#tell = tell;
    const composer = (this.#element = add(frame, 'div|part=composer|class=composer'));
    this.#note = add(composer, 'div|part=composer__note|class=note|id=note|hidden');
    this.input = add(
      composer,
      'textarea|part=composer__input|rows=1|dir=auto|enterkeyhint=send|autocomplete=off|spellcheck=true|aria-describedby=note',
    );
    this.#count = add(composer, 'span|part=composer__count|class=count|hidden');
    add(composer, 'slot|name=composer-actions');
    // Beside the stop button, while something is written to a busy agent.
    this.#later = add(composer, 'button|type=button|part=composer__later|class=round send|data-do=send|hidden');
    this.#button = add(composer, 'button|type=button|part=composer__button|class=round send');
    label(this.#later, text('queueSend'));
    for (const button of [this.#later, this.#button]) icon(button, 'M12 19V5m0 0-6 6m6-6 6 6', 'arrow');
    icon(this.#button, 'M7 7h10v10H7z', 'square');
  }

  /** The placeholder is the name of the text box as well. */
  setPlaceholder(words) {
    if (this.input.placeholder !== words) this.#kit.label(this.input, (this.input.placeholder = words));
  }

  /** While a turn runs the button stops it. */
  setBusy(busy, stopping) {
    this.#busy = busy;
    this.#stopping = stopping;
    const name = (this.#button.dataset.do = busy ? 'stop' : 'send');
    this.#kit.label(this.#button, this.#kit.text(name));
    this.update();
  }

  /** Nothing can be written for this reason; without one it can. The draft stays. */
  setClosed(reason) {
    this.#closed = reason;
    this.input.readOnly = reason !== undefined;
    this.update();
  }

  /**
   * The draft belongs to this conversation from now on, and is kept for the next page load under
   * this key, if it is to be kept. What is being written goes along into a new conversation and
   * out of one; else the box shows what was kept.
   */
  setDraft(key, keeps) {
    const before = this.#key;
    this.#key = keeps ? key : undefined;
    if (!keeps) return writeStorage(key);
    if (before === key) return;
    this.endEdit();
    const draft = this.input.value;
    const stays = !before || before.endsWith('|') || (key.endsWith('|') && draft !== this.#read);
    if (this.#composing || (draft && stays)) {
      if (before) writeStorage(before);
      this.#keep();
    } else {
      this.#read = readStorage(key) ?? '';
      this.write(this.#read);
    }
  }

  /** A message that was sent comes into the box to be changed; what was there waits. */
  edit(id, text) {
    if (this.#composing) return;
    if (!this.#edited) this.#aside = this.input.value;
    this.#edited = id;
    this.write(text);
    this.input.focus();
    this.input.setSelectionRange(text.length, text.length);
  }

  /** What is being written, for another text box. */
  leave() {
    const { value, selectionStart, selectionEnd } = this.input;
    const written = [this.#edited, this.#aside, value];
    return { written, selection: [selectionStart, selectionEnd], hasFocus: this.focused };
  }

  /** Goes on with what stood in another one. */
  goOn({ written: [edited, aside, text], selection, hasFocus }) {
    this.#edited = edited;
    this.#aside = aside;
    this.write(text);
    this.input.setSelectionRange(...selection);
    if (hasFocus) this.input.focus({ preventScroll: true });
  }

  /** Leaves the message as it was; true if one was edited. */
  endEdit() {
    if (!this.#edited) return false;
    this.#edited = undefined;
    this.write(this.#aside);
    return true;
  }

  /** Sends the draft; one that is refused stays. True if it was sent. */
  send() {
    // Of a text box that is emptied in mid-composition the last syllable would come back.
    if (this.#composing) this.input.blur();
    const text = this.input.value;
    const edited = this.#edited;
    if (this.#isOff() || (this.#busy && !this.#queues()) || (!edited && this.files?.ready() === false)) return false;
    const files = edited ? '' : this.files?.text();
    // Cleared first: listeners run inside, and may look.
    this.#edited = undefined;
    this.write(edited ? this.#aside : '');
    if (files) this.#tell('attach', files);
    const said = files && !text.trim() ? '' : text;
    const sent = edited ? this.#tell('resend', `${edited}\n${text}`) : this.#tell(this.#busy ? 'queue' : 'send', said);
    if (sent && files) this.files.clear();
    if (!sent) {
      this.#edited = edited;
      this.write(text);
    }
    return sent;
  }

  /** The composition of an input method begins or ends. */
  compose(composing) {
    this.#composing = composing;
  }

  /** A press that must not take the focus out of the text box, so that a screen keyboard stays. */
  holds(target) {
    return this.focused && (this.#button.contains(target) || this.#later.contains(target));
  }

  /** Whether a click beside the text box means the text box. */
  isAround(target) {
    return target === this.#element;
  }

  /** The person changed the draft. */
  changed() {
    this.#keep();
    this.resize();
  }

  /** Without a draft there is nothing to send; the button stays focusable. */
  update() {
    const count = length(this.input.value);
    this.#isLong = count > LIMIT;
    this.#count.hidden = count < NEAR;
    if (count >= NEAR) this.#count.textContent = `${count.toLocaleString()} / ${LIMIT.toLocaleString()}`;
    this.#explain();
    const hides = !this.#busy || !this.#queues() || this.#isOff();
    if (hides && !this.#later.hidden && this.#later.matches(':focus')) this.#button.focus();
    this.#later.hidden = hides;
    this.#button.setAttribute('aria-disabled', this.#stopping || (!this.#busy && this.#isOff()));
  }

  /** The box grows with the draft, to the limit of the style sheet. */
  resize() {
    this.update();
    // Browsers do it by themselves where they can.
    if (CSS.supports('field-sizing', 'content')) return;
    this.input.style.height = 'auto';
    const { scrollHeight } = this.input;
    if (scrollHeight) this.input.style.height = `${scrollHeight}px`;
  }

  #isOff() {
    return this.#closed !== undefined || this.#isLong || this.#isEmpty();
  }

  /** What is sent to a busy agent waits. */
  #queues() {
    return this.lines && !this.#edited;
  }

  #isEmpty() {
    return !this.input.value.trim() && (this.#edited || !this.files?.count);
  }

  /** This stands in the box from now on. */
  write(text) {
    if (this.input.value !== text) this.input.value = text;
    this.#keep();
    this.resize();
  }

  /** A message that is edited is none of the drafts. */
  #keep() {
    if (this.#key && !this.#edited) writeStorage(this.#key, this.input.value || undefined);
  }

  /** The line over the text box: why it is closed, what is too long, what is edited. */
  #explain() {
    const { add, text } = this.#kit;
    const key = this.#closed !== undefined ? 'closed' : this.#isLong ? 'tooLong' : this.#edited && 'editing';
    const words = key && ((key === 'closed' && this.#closed) || text(key, { limit: LIMIT.toLocaleString() }));
    const note = this.#note;
    if (note.firstChild?.textContent === words) return;
    note.hidden = !words;
    note.textContent = '';
    if (!words) return;
    // What appears in an alert is read out at once, and once: the count beside it is not.
    note.setAttribute('role', key === 'tooLong' ? 'alert' : 'status');
    add(note, 'span|dir=auto', words);
    if (key === 'editing') add(note, 'button|type=button|part=composer__cancel|data-do=cancel', text('cancel'));
  }
}
