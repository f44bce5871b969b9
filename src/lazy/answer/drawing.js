// One answer: a program of steps that opens, fills, closes and cuts nodes.
//
// A step is a letter with a value, some have more values behind them; all end with U+0000.
// The nodes of finished blocks are never touched again, so a selection in them survives.

/** How deep headings stand in the document: below the panel's own, without gaps. */
const HEADINGS = { above: 2, deepest: 6 };
const SAFE = new Set(['http:', 'https:', 'mailto:']);
const ALIGN = { n: '', l: 'left', c: 'center', r: 'right' };

/**
 * After so many blocks the next ones stand in boxes of so many, which the browser skips when
 * nobody sees them: a long answer costs little more than what is in view. Each box has a price of
 * its own in every frame.
 */
const [FIRST, MANY] = [8, 48];
/** Blocks that a box does not end with: what follows them has a margin of another size. */
const BINDING = 'h3, h4, h5, h6, hr';

/** Nodes that are just an element, by their letters. */
const PLAIN = {
  E: 'em',
  S: 'strong',
  K: 's',
  V: 'code|class=span|dir=ltr',
  B: 'br',
  R: 'hr',
};

/**
 * An open node: `element` takes what comes, `root` is what stands in the node above, `kids`
 * are the roots of its children.
 */
class Open {
  kids = [];

  constructor(element, root = element) {
    this.element = element;
    this.root = root;
  }

  write(text, last) {
    if (last) last.appendData(text);
    else {
      last = this.element.appendChild(new Text(text));
      this.kids.push(last);
    }
    return last;
  }

  cut(keep) {
    for (const kid of this.kids.splice(keep)) kid.remove();
  }
}

/** A message as it grows. */
export class Drawing {
  #parts;
  /** Open nodes, the message itself first. */
  #stack;
  /** The text of the step before. */
  #last;
  #marks = new Map();
  #heading = HEADINGS.above;
  #steps;
  #at;
  /** The message's own element, where new blocks go in it, and how many stand before those there. */
  #body;
  #place;
  #before = 0;

  /** New blocks are made outside the document and go in together. */
  constructor(parts, element) {
    this.#parts = parts;
    this.#body = this.#place = element;
    this.#stack = [new Open(document.createDocumentFragment())];
  }

  /** Does what a program says. */
  draw(program) {
    this.#steps = program.split('\0');
    // The last end has nothing behind it.
    this.#steps.pop();
    for (this.#at = 0; this.#at < this.#steps.length; ) {
      const step = this.#next();
      if (step[0] === 't') this.#last = this.#top.write(step.slice(1), this.#last);
      else {
        this.#last = undefined;
        this.#step(step[0], step.slice(1));
      }
    }
    this.#put();
  }

  #put() {
    this.#place.append(this.#stack[0].element);
  }

  /** The place of the next block. */
  #makeRoom() {
    const { kids } = this.#stack[0];
    if (kids.length - this.#before < (this.#before ? MANY : FIRST) || kids.at(-1).matches(BINDING)) return;
    kids.at(-1).classList.add('end');
    this.#put();
    this.#place = this.#parts.kit.add(this.#body, 'div|class=stretch');
    this.#before = kids.length;
  }

  get #top() {
    return this.#stack.at(-1);
  }

  #next() {
    return this.#steps[this.#at++];
  }

  #step(letter, value) {
    switch (letter) {
      case '.':
        return this.#stack.pop().close?.();
      case 'x':
        this.#stack.length = Number(value) + 1;
        return this.#top.cut(Number(this.#next()));
      case 'o':
        return this.#stack[Number(value)].element.classList.remove('tight');
      case 'm':
        return this.#marks.set(value, this.#top);
      case 'r':
        this.#stack = [this.#stack[0], this.#marks.get(value)];
        return this.#top.cut(0);
      default:
        return this.#open(letter, value);
    }
  }

  #open(letter, value) {
    const above = this.#top;
    const { add } = this.#parts.kit;
    if (!this.#stack[1]) this.#makeRoom();
    const open = PLAIN[letter] ? new Open(add(above.element, PLAIN[letter])) : this[letter](above, value, add);
    above.kids.push(open.root);
    this.#stack.push(open);
  }

  /**
   * What has a direction of its own. The first block in another one has not: an element with
   * `dir` does not count when the one around it looks for its direction.
   */
  #own(spec) {
    return this.#stack.length > 1 && !this.#top.kids.length ? spec : `${spec}|dir=auto`;
  }

  P(above, _value, add) {
    return new Open(add(above.element, this.#own('p')));
  }

  Q(above, _value, add) {
    return new Open(add(above.element, this.#own('blockquote')));
  }

  /** A heading: the levels of an answer say how big, those of the document leave out none. */
  H(above, value, add) {
    const { above: panel, deepest } = HEADINGS;
    const level = Math.min(Number(value) + panel, this.#heading + 1, deepest);
    const open = new Open(add(above.element, this.#own(`h${level}|class=h${value}`)));
    open.close = () => (this.#heading = level);
    return open;
  }

  L(above, value, add) {
    const list = add(above.element, this.#own(`${value ? 'ol' : 'ul'}|class=list tight`));
    if (value && value !== '1') list.start = Number(value);
    return new Open(list);
  }

  I(above, value, add) {
    const item = add(above.element, value ? 'li|class=task' : 'li');
    if (value) {
      const box = add(item, 'input|type=checkbox|disabled');
      box.checked = value === '1';
      const { label, text } = this.#parts.kit;
      label(box, text(box.checked ? 'taskDone' : 'taskOpen'));
    }
    return new Open(item);
  }

  C(above, value) {
    return this.#parts.code.open(above.element, value);
  }

  T(above, value, add) {
    // It scrolls, so keys must reach it.
    const box = add(above.element, this.#own('div|part=table|class=table|role=group|tabindex=0'));
    this.#parts.kit.label(box, this.#parts.kit.text('table'));
    const open = new Open(add(box, 'table'), box);
    open.align = value;
    return open;
  }

  W(above, value, add) {
    const body = () => (above.body ??= add(above.element, 'tbody'));
    const open = new Open(add(value ? add(above.element, 'thead') : body(), 'tr'));
    open.cell = value ? 'th|scope=col' : 'td';
    open.align = above.align;
    return open;
  }

  D(above, _value, add) {
    const align = ALIGN[above.align[above.kids.length]];
    return new Open(add(above.element, `${above.cell}${align && `|class=${align}`}`));
  }

  /** A link shows where it leads, unless it says just that. */
  A(above, url, add) {
    const [title, host] = [this.#next(), this.#next()];
    const link = add(above.element, 'a|part=link|class=link|target=_blank|rel=noopener noreferrer');
    link.href = url;
    // The parser has judged it; the browser has the last word.
    if (!SAFE.has(link.protocol)) link.removeAttribute('href');
    link.title = title ? `${title}\n${url}` : url;
    const open = new Open(link);
    open.close = () => {
      const where = host || url.replace(/^mailto:/i, '').split('?')[0];
      if ((host || link.protocol === 'mailto:') && !namesOnly(link.textContent, where)) link.dataset.host = where;
    };
    return open;
  }

  G(above, url) {
    const title = this.#next();
    return this.#parts.pictures.open(new Open(document.createElement('span')), above.element, url, title);
  }

  M(above, value, add) {
    const open = new Open(add(above.element, `${value ? 'div' : 'span'}|class=math${value ? ' display' : ''}|dir=ltr`));
    open.close = () => this.#parts.formulas.show(open.element, Boolean(value));
    return open;
  }
}

/** Whether a label is an address of `host`, and not one of another host or a sentence. */
function namesOnly(label, host) {
  const text = label.trim();
  if (text === host) return true;
  try {
    return new URL(/^[a-z]+:/i.test(text) ? text : `https://${text}`).host === host;
  } catch {
    return false;
  }
}
