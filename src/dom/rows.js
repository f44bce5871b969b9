// The messages of the transcript, one row each.

/** So many rows and lines stand in one page. */
const PAGE = 32;
/** Of older messages the nearest stand in small pages, as they come; so many pages. */
const NEAR = 8;
/** The others stand in larger ones, and those in shelves: each box that can be skipped costs a little of every picture. */
const FAR = 48;
const SHELF = 16;

/** A box that may be skipped; a guess of how high it is keeps the scroll bar steady until it is seen. */
class Box {
  element = document.createElement('div');
  #lines = 0;

  constructor(kind) {
    this.element.className = kind;
  }

  isFull(most) {
    return this.element.childElementCount >= most;
  }

  grow(lines) {
    this.#lines += lines;
    this.element.style.setProperty('contain-intrinsic-height', `auto ${Math.round(this.#lines * 23)}px`);
  }
}

/**
 * One message. A person's text is split at blank lines into one element per paragraph; an
 * answer is drawn by the drawer's programs, and if there is no drawer, as a person's text.
 */
class Row {
  #kit;
  #status;
  #sources;
  #drawing;
  #tail;
  /** Line ends seen and not written: they may become a blank line. */
  #breaks = 0;
  /** The person's own words, as they were written. */
  text = '';

  constructor(kit, parent, id, role) {
    const { add, label, text } = (this.#kit = kit);
    this.own = role === 'user';
    this.element = add(parent, `article|part=message message--${role}|class=row|data-role=${role}`);
    label(this.element, text(this.own ? 'you' : 'assistant'));
    this.element.dataset.messageId = id;
    this.body = add(this.element, 'div|part=message__body|class=body|dir=auto');
    // An answer is there when something of it is.
    this.element.hidden = !this.own;
  }

  /** What a program of the drawer says; `ended` if it is the last one. */
  draw(drawer, program, ended) {
    // Text that comes after the end of a message begins a part of its own.
    this.#drawing ??= drawer.begin(this.body.childElementCount ? this.#kit.add(this.body, 'div') : this.body);
    this.#drawing.draw(program);
    this.element.hidden = false;
    if (ended) this.#drawing = undefined;
  }

  write(text) {
    if (this.own) this.text += text;
    this.element.hidden = false;
    let piece = '';
    const put = () => {
      if (piece) this.#tail.appendData(piece);
      piece = '';
    };
    for (const [at, whole] of text.split('\n').entries()) {
      if (at) this.#breaks += 1;
      const line = whole.replace(/^\r+|\r+$/g, '');
      if (!line) continue;
      if (this.#breaks > 1 || !this.#tail) {
        put();
        this.#kit.add(this.body, 'p').append((this.#tail = new Text()));
      } else if (this.#breaks) {
        piece += '\n';
      }
      this.#breaks = 0;
      piece += line;
    }
    put();
  }

  /** Where the answer comes from: links by their titles, in the order of their markers. */
  setSources(sources) {
    const { add, label, text } = this.#kit;
    this.#sources?.remove();
    this.#sources = sources.length ? add(this.element, 'ol|part=message__sources|class=sources') : undefined;
    if (this.#sources) label(this.#sources, text('sources'));
    for (const { marker, title, url } of sources) {
      const item = add(this.#sources, 'li');
      const isLink = /^https?:\/\//i.test(url);
      const source = add(item, `${isLink ? 'a|target=_blank|rel=noopener noreferrer' : 'span'}|part=source|class=source`);
      if (isLink) source.href = source.title = url;
      add(source, 'b', marker.replace(/^\[(.*)\]$/, '$1'));
      add(source, 'span|class=title|dir=auto', title);
      if (isLink) add(source, 'span|class=unseen', ` (${text('newTab')})`);
    }
  }

  setStatus(status) {
    const { add, text } = this.#kit;
    this.#status?.remove();
    this.#status =
      status &&
      add(
        this.element,
        `p|part=message__status|class=status|data-status=${status}`,
        text(status === 'error' && this.own ? 'ownError' : status),
      );
  }
}

/**
 * All rows, in the order in which they were added. They stand in pages, so that the browser
 * skips those that nobody sees; the last page is never skipped.
 */
export class Rows {
  #kit;
  #list;
  #rows = new Map();
  /** What draws widgets, once there is one. */
  #widgets;
  #page;
  /** The first page of older messages, and the first shelf. */
  #old;
  #shelf;
  #last;
  /** What draws answers, once it is there. */
  drawer;
  /** What draws files, once there are some. */
  #files;

  constructor(kit, list) {
    this.#kit = kit;
    this.#list = list;
  }

  /** Where the next row or line goes. */
  get page() {
    if (!this.#page || this.#page.childElementCount >= PAGE) this.#page = this.#kit.add(this.#list, 'div|class=page');
    return this.#page;
  }

  /** Whether nothing at all is drawn. */
  get isEmpty() {
    return !this.#list.querySelector('.page > *');
  }

  /** The row of a message, if it is drawn. */
  get(id) {
    return this.#rows.get(id);
  }

  /** The last row of the person's own, if there is one. */
  lastOwn() {
    const rows = this.#list.querySelectorAll('.row[data-role=user]');
    return this.#rows.get(rows[rows.length - 1]?.dataset.messageId);
  }

  /** The last row, if there is one. */
  last() {
    return this.#rows.get(this.#last);
  }

  clear() {
    this.drawer?.forget(this.#list);
    this.#rows.clear();
    this.#page = this.#old = this.#shelf = this.#last = undefined;
  }

  /** A message at the end. */
  add(id, role, text) {
    const row = new Row(this.#kit, this.page, id, role);
    if (row.own) row.write(text);
    this.#kit.watch?.(row.element);
    this.#rows.set((this.#last = id), row);
    return row;
  }

  /** Has a widget drawn in the row of its message, whose summary it takes the place of. */
  setWidget(id, widget) {
    const row = this.get(id);
    if (!row) return;
    row.widget = widget;
    this.#widgets ??= this.#kit.lazy('widgets').then((part) => part(this.#kit));
    this.#widgets.then(
      (draw) => row.widget === widget && draw(row.element, row.body, id, widget),
      () => (this.#widgets = undefined),
    );
  }

  /** More of an answer. */
  draw(id, program, plain, ended) {
    const row = this.#rows.get(id);
    if (plain) row?.write(program);
    else row?.draw(this.drawer, program, ended);
  }

  /** The part that knows about files. */
  files() {
    this.#files ??= this.#kit.lazy('files').then((part) => part(this.#kit));
    this.#files.catch(() => (this.#files = undefined));
    return this.#files;
  }

  /** What a person attached to their message; by name if the part cannot be loaded. */
  setFiles(id, files) {
    const row = this.get(id);
    if (!row) return;
    this.files().then(
      (part) => part.list(row.element, files),
      () => this.#kit.add(row.element, 'p|class=status', files.map((file) => file.name).join(', ')),
    );
  }

  /** Messages from before the first one. */
  prepend(messages) {
    const lines = messages.reduce((sum, { content }) => sum + 3 + content.length / 60, 0);
    const page = this.#first(lines);
    const rows = document.createDocumentFragment();
    for (const { id, role, content, program, status, citations } of messages) {
      const row = new Row(this.#kit, rows, id, role);
      if (program === undefined) row.write(content);
      else row.draw(this.drawer, program, true);
      row.setSources(citations ?? []);
      row.setStatus(status);
      this.#rows.set(id, row);
      this.#last ??= id;
    }
    page.prepend(rows);
    this.#kit.watch?.(page);
    for (const { id, widget, files } of messages) {
      if (widget) this.setWidget(id, widget);
      if (files) this.setFiles(id, files);
    }
  }

  /** The page into which older messages come, of so many lines. */
  #first(lines) {
    const isFar = this.#list.childElementCount > NEAR;
    if (!isFar || !this.#old || this.#old.isFull(FAR)) {
      this.#old = new Box('page old');
      if (isFar && (!this.#shelf || this.#shelf.isFull(SHELF))) {
        this.#shelf = new Box('shelf');
        this.#list.prepend(this.#shelf.element);
      }
      (isFar ? this.#shelf.element : this.#list).prepend(this.#old.element);
    }
    this.#old.grow(lines);
    if (this.#old.element.parentElement === this.#shelf?.element) this.#shelf.grow(lines);
    return this.#old.element;
  }

  remove(id) {
    const element = this.#rows.get(id)?.element;
    if (!element) return;
    this.drawer?.forget(element);
    element.remove();
    this.#rows.delete(id);
    if (this.#last === id) this.#last = [...this.#list.querySelectorAll('.row')].pop()?.dataset.messageId;
  }
}
