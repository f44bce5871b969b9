// The text box with its button.

/** What browsers report for keys that belong to an input method. */
const INPUT_METHOD = 229;

/**
 * A key of the person's own: pressed without a modifier, and not one of an input method. The
 * Enter that picks a candidate sends nothing, and in one browser comes after the composition
 * ended.
 */
export function isPlain(event) {
  const { ctrlKey, altKey, metaKey, isComposing, keyCode } = event;
  return !ctrlKey && !altKey && !metaKey && !isComposing && keyCode !== INPUT_METHOD;
}

/** What the person writes. `send(text)` is false if the text was refused. */
export class Composer {
  #kit;
  #send;
  #button;
  #busy = false;
  #stopping = false;
  /** Whether the text box had the focus last. */
  focused = false;

  constructor(kit, frame, send) {
    const { add, icon } = (this.#kit = kit);
    this.#send = send;
    const composer = add(frame, 'div|part=composer|class=composer');
    this.input = add(composer, 'textarea|part=composer__input|rows=1|dir=auto|enterkeyhint=send|autocomplete=off');
    this.#button = add(composer, 'button|type=button|part=composer__button|class=send');
    icon(this.#button, 'M12 19V5m0 0-6 6m6-6 6 6', 'arrow');
    icon(this.#button, 'M7 7h10v10H7z', 'square');
  }

  /** The placeholder is the name of the text box as well. */
  setPlaceholder(words) {
    this.#kit.label(this.input, (this.input.placeholder = words));
  }

  /** While a turn runs the button stops it. */
  setBusy(busy, stopping) {
    this.#busy = busy;
    this.#stopping = stopping;
    const name = (this.#button.dataset.do = busy ? 'stop' : 'send');
    this.#kit.label(this.#button, this.#kit.text(name));
    this.update();
  }

  /** Sends the draft; one that is refused stays. */
  send() {
    const text = this.input.value;
    if (!text.trim()) return;
    // Cleared first: listeners run inside, and may look.
    this.input.value = '';
    this.resize();
    if (!this.#send(text)) {
      this.input.value = text;
      this.resize();
    }
  }

  /** Without a draft there is nothing to send; the button stays focusable. */
  update() {
    const off = this.#stopping || (!this.#busy && !this.input.value.trim());
    this.#button.setAttribute('aria-disabled', off);
  }

  /** The draft changed: the box grows with it, to the limit of the style sheet. */
  resize() {
    this.update();
    this.input.style.height = 'auto';
    const { scrollHeight } = this.input;
    if (scrollHeight) this.input.style.height = `${scrollHeight}px`;
  }
}
