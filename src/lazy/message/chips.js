// What the agent suggests to say next: a click says it.

export class Chips {
  #kit;
  #parts;

  constructor(kit, parts) {
    this.#kit = kit;
    this.#parts = parts;
    parts.chips.addEventListener('click', ({ target }) => this.#click(target.closest('.chip')));
  }

  /** Offers these, instead of those before. */
  show(items) {
    const { add, label, text } = this.#kit;
    const { chips } = this.#parts;
    chips.textContent = '';
    if (!items.length) return;
    const group = add(chips, 'div|part=suggestions|class=suggestions|role=group');
    label(group, text('suggestions'));
    for (const item of items) add(group, 'button|type=button|part=suggestion|class=chip|dir=auto', item);
  }

  #click(chip) {
    const { frame } = this.#parts;
    const stood = this.#kit.root.activeElement === chip;
    if (!chip || !this.#kit.tell('send', chip.textContent) || !stood) return;
    // The button is gone; on a touch screen a text box would bring the keyboard.
    const isTouch = frame.ownerDocument.defaultView.matchMedia('(pointer: coarse)').matches;
    frame.querySelector(isTouch ? '.scroller' : '.composer textarea').focus({ preventScroll: true });
  }
}
