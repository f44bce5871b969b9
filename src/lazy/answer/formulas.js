// Formulas: their source, until what sets them is loaded; without it they stay that.

/** So many set formulas are kept: the end of an answer is drawn often. */
const KEPT = 64;

export class Formulas {
  #kit;
  #set = new Map();

  constructor(kit) {
    this.#kit = kit;
  }

  /** Sets the formula whose source stands in `element`. */
  show(element, display) {
    const source = element.textContent;
    const key = `${display ? 1 : 0}${source}`;
    const known = this.#set.get(key);
    const set = (formula) => {
      element.classList.add('set');
      element.replaceChildren(formula);
    };
    if (known) return set(known.cloneNode(true));
    return this.#kit.lazy('math').then(
      (typeset) => {
        const formula = typeset(source, display);
        if (!formula) return;
        if (this.#set.size >= KEPT) this.#set.delete(this.#set.keys().next().value);
        this.#set.set(key, formula.cloneNode(true));
        set(formula);
      },
      () => {},
    );
  }
}
