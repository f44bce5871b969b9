// Saves the conversation as a file: a button in the header with a small menu.

const SAVE = 'M12 4v11m0 0-4.500-4.500M12 15l4.500-4.500M5 19h14';
const FORMATS = { markdown: ['md', 'text/markdown'], json: ['json', 'application/json'] };
/** So long the file's address is good, in milliseconds. */
const KEPT = 60_000;

export class Saving {
  #kit;
  #parts;
  #button;
  #menu;

  constructor(kit, parts) {
    const { add, icon, label, text } = (this.#kit = kit);
    this.#parts = parts;
    const header = parts.frame.querySelector('.header');
    const tools = header.querySelector('.tools') ?? header;
    const box = add(tools, 'div|class=saving');
    // The way out stays the last one, where it was before there was something to save.
    tools.insertBefore(box, tools.querySelector('.close'));
    const button = (this.#button = add(
      box,
      'button|type=button|part=header__button header__button--save|class=round|aria-haspopup=menu|aria-expanded=false',
    ));
    label(button, (button.title = text('save')));
    icon(button, SAVE);
    const menu = (this.#menu = add(box, 'div|part=menu|class=menu|role=menu|hidden'));
    label(menu, text('save'));
    for (const format in FORMATS) {
      const item = add(menu, 'button|type=button|part=menu__item|class=menu-item|role=menuitem|tabindex=-1', text(format));
      item.addEventListener('click', () => this.#save(format));
    }
    button.addEventListener('click', () => this.#show(menu.hidden));
    box.addEventListener('keydown', (event) => this.#key(event));
    box.addEventListener('focusout', ({ relatedTarget }) => box.contains(relatedTarget) || this.#show(false));
    this.refresh();
  }

  /** There must be something to save. */
  refresh() {
    this.#button.hidden = !this.#parts.list.querySelector('.row');
    if (this.#button.hidden) this.#show(false);
  }

  #show(isOpen) {
    this.#menu.hidden = !isOpen;
    this.#button.setAttribute('aria-expanded', isOpen);
    if (isOpen) this.#menu.firstElementChild.focus();
  }

  #key(event) {
    const items = [...this.#menu.children];
    const at = items.indexOf(event.target);
    const { key } = event;
    if (this.#menu.hidden) return;
    if (key === 'ArrowDown') items.at((at + 1) % items.length).focus();
    else if (key === 'ArrowUp') items.at(at - 1).focus();
    else if (key === 'Home') items[0].focus();
    else if (key === 'End') items.at(-1).focus();
    else if (key === 'Escape') this.#close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #close() {
    this.#button.focus({ preventScroll: true });
    this.#show(false);
  }

  async #save(format) {
    const { add, announce, root, text } = this.#kit;
    this.#close();
    try {
      const written = await root.host.exportTranscript(format);
      const [ending, type] = FORMATS[format];
      const address = URL.createObjectURL(new Blob([written], { type }));
      const link = add(root, `a|download=conversation-${new Date().toISOString().slice(0, 10)}.${ending}|hidden`);
      link.href = address;
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(address), KEPT);
      announce(text('saved'));
    } catch {
      announce(text('notSaved'));
    }
  }
}
