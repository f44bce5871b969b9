// What the board knows: cards with ids that never change, in three columns.

export const COLUMNS = ['To do', 'Doing', 'Done'];

/** What a week can be about, and which cards then come first. */
export const FOCUS = {
  started: { title: 'Finish what is started', fits: ({ column }) => column === 'Doing' },
  fresh: { title: 'Start something new', fits: ({ column }) => column === 'To do' },
  old: { title: 'Clear what waits longest', fits: ({ column, days }) => column !== 'Done' && days > 6 },
};

const CARDS = [
  ['C-1', 'Receipts by e-mail', 'To do', 'Ada', 2],
  ['C-2', 'Search in two languages', 'To do', '', 12],
  ['C-3', 'Checkout on small phones', 'Doing', 'Bo', 9],
  ['C-4', 'Faster first page', 'Doing', 'Ada', 4],
  ['C-5', 'Photos of returned parcels', 'To do', '', 7],
  ['C-6', 'Address book', 'Done', 'Chi', 1],
  ['C-7', 'Sign in with a key', 'Doing', 'Chi', 3],
  ['C-8', 'New colours for charts', 'Done', 'Bo', 5],
];

export class Board {
  cards = CARDS.map(([id, title, column, owner, days]) => ({ id, title, column, owner, days, isPlanned: false }));
  #listeners = new Set();

  /** Hears every change; gives what ends that. */
  watch(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  move(id, column) {
    const card = this.cards.find((known) => known.id === id);
    if (!card) throw new Error(`There is no card ${id}. The ids are ${this.cards.map((known) => known.id).join(', ')}.`);
    if (!COLUMNS.includes(column)) throw new Error(`There is no column ${column}.`);
    card.column = column;
    this.#changed();
    return card;
  }

  add(title) {
    const card = { id: `C-${this.cards.length + 1}`, title, column: COLUMNS[0], owner: '', days: 0, isPlanned: false };
    this.cards.push(card);
    this.#changed();
    return card;
  }

  /** Marks up to three cards for the week. */
  plan(focus) {
    const planned = this.cards.filter(FOCUS[focus].fits).sort((a, b) => b.days - a.days).slice(0, 3);
    for (const card of this.cards) card.isPlanned = planned.includes(card);
    this.#changed();
    return planned;
  }

  /** Two sentences about the whole. */
  summary() {
    const counts = COLUMNS.map((column) => `${this.cards.filter((card) => card.column === column).length} in “${column}”`);
    const open = this.cards.filter(({ column }) => column !== 'Done').sort((a, b) => b.days - a.days);
    const [oldest] = open;
    const nobody = open.filter(({ owner }) => !owner).map(({ id }) => id);
    const waits = oldest ? ` ${oldest.id} “${oldest.title}” waits longest: ${oldest.days} days.` : '';
    return `${counts.join(', ')}.${waits}${nobody.length ? ` Nobody has ${nobody.join(', ')}.` : ''}`;
  }

  #changed() {
    for (const listener of this.#listeners) listener();
  }
}
