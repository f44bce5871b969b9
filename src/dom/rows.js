// The messages of the transcript, one row each.

/**
 * One message. Its text is split at blank lines into one element per paragraph: only the
 * last one changes while the answer streams in, so the cost of a delta does not grow with
 * the answer, and a selection in a finished paragraph survives.
 */
class Row {
  #kit;
  #status;
  #sources;
  #tail;
  /** Line ends seen and not written: they may become a blank line. */
  #breaks = 0;
  /** The person's own words, as they were written. */
  text = '';

  constructor(kit, rows, id, role) {
    const { add, label, text } = (this.#kit = kit);
    this.own = role === 'user';
    this.element = add(rows, `article|part=message message--${role}|class=row|data-role=${role}`);
    label(this.element, text(this.own ? 'you' : 'assistant'));
    this.element.dataset.messageId = id;
    this.body = add(this.element, 'div|part=message__body|class=body|dir=auto');
  }

  write(text) {
    if (this.own) this.text += text;
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

/** All rows, in the order in which they were added. */
export class Rows {
  #kit;
  #list;
  #rows = new Map();
  /** What draws widgets, once there is one. */
  #widgets;

  constructor(kit, list) {
    this.#kit = kit;
    this.#list = list;
  }

  /** The row of a message, if it is drawn. */
  get(id) {
    return this.#rows.get(id);
  }

  /** The last row of the person's own, if there is one. */
  lastOwn() {
    return [...this.#rows.values()].findLast((row) => row.own);
  }

  clear() {
    this.#rows.clear();
  }

  /** A message at the end. */
  add(id, role, text) {
    const row = new Row(this.#kit, this.#list, id, role);
    row.write(text);
    this.#rows.set(id, row);
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

  /** Messages from before the first one. */
  prepend(messages) {
    const rows = new DocumentFragment();
    const earlier = messages.map(({ id, role, content, status, citations }) => {
      const row = new Row(this.#kit, rows, id, role);
      row.write(content);
      row.setSources(citations ?? []);
      row.setStatus(status);
      return [id, row];
    });
    this.#rows = new Map([...earlier, ...this.#rows]);
    this.#list.prepend(rows);
    for (const { id, widget } of messages) if (widget) this.setWidget(id, widget);
  }

  remove(id) {
    this.#rows.get(id)?.element.remove();
    this.#rows.delete(id);
  }
}
