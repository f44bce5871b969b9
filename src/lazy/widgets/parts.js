// What several kinds are made of.

import { Pictures } from '../answer/pictures.js';
import * as read from './read.js';

let count = 0;

/** An id that no other element of a page has. */
export function newId() {
  count += 1;
  return `widget-${count}`;
}

const SCHEMES = ['http:', 'https:', 'mailto:'];

/** The address as a browser reads it, if a person may follow it. */
function judged(href) {
  try {
    const url = new URL(href);
    return SCHEMES.includes(url.protocol) && !url.username && !url.password ? url : undefined;
  } catch {
    return undefined;
  }
}

/** What the kinds draw with: `kit` is the panel's. */
export class Parts {
  #pictures;
  /** Making one costs more than writing a hundred values. */
  #formats = new Map();

  constructor(kit) {
    this.kit = kit;
    this.#pictures = new Pictures(kit);
  }

  /** The words of `Intl.NumberFormat` or `Intl.DateTimeFormat` in the reader's language. */
  format(Kind, options, value) {
    const key = JSON.stringify(options);
    if (!this.#formats.has(key)) this.#formats.set(key, new Kind(this.kit.locale, options));
    return this.#formats.get(key).format(value);
  }

  /** The title of a widget, a link if it leads somewhere. */
  title(parent, text, href) {
    const title = this.kit.add(parent, 'p|part=widget__title|class=widget-title|dir=auto');
    this.linked(title, text, href);
    return title;
  }

  /** A text, as a link that says where it leads if it leads anywhere. */
  linked(parent, text, href) {
    const { add, text: say } = this.kit;
    const url = href === undefined ? undefined : judged(href);
    if (!url) return void parent.append(text);
    const link = add(parent, 'a|part=widget__link|class=widget-link|target=_blank|rel=noopener noreferrer', text);
    link.href = url.href;
    link.title = url.href;
    add(link, 'span|class=unseen', ` (${say('newTab')})`);
    add(parent, 'span|class=widget-host|dir=ltr', ` ${url.host || url.pathname}`);
  }

  /** A longer text; its line ends stay. */
  text(parent, text) {
    if (text) this.kit.add(parent, 'p|part=widget__text|class=widget-text|dir=auto', text);
  }

  /** An image by the rules of answers: where the page allows it, or the person asks for it. */
  image(parent, { url, alt }) {
    const { host, href } = judged(url) ?? {};
    if (host) this.#pictures.show(this.kit.add(parent, 'p|part=widget__image|class=picture widget-picture'), href, alt);
  }

  /** A value in the reader's language. */
  value(parent, value, { type, currency } = {}, href) {
    const words = this.words(value, type, currency);
    const isTime = (type === 'date' || type === 'datetime') && words !== value;
    if (!isTime) return this.linked(parent, words, href);
    this.kit.add(parent, 'time', words).dateTime = value;
  }

  words(value, type, currency) {
    const { text: say } = this.kit;
    if (value === null || value === '') return '\u2013';
    if (typeof value === 'boolean') return say(value ? 'yes' : 'no');
    if (typeof value === 'number') {
      const style = type === 'percent' || (type === 'currency' && currency) ? { style: type, currency } : undefined;
      const digits = style?.currency ? undefined : { maximumFractionDigits: type === 'percent' ? 1 : 6 };
      return type === 'text' ? String(value) : this.format(Intl.NumberFormat, { ...digits, ...style }, value);
    }
    const isDay = type === 'date' && /^\d{4}-\d\d-\d\d$/.test(value);
    const isMoment = type === 'datetime' && /^\d{4}-\d\d-\d\dT/.test(value);
    const time = isDay || isMoment ? Date.parse(isDay ? `${value}T00:00:00Z` : value) : NaN;
    if (Number.isNaN(time)) return value;
    const how = isDay ? { dateStyle: 'medium', timeZone: 'UTC' } : { dateStyle: 'medium', timeStyle: 'short' };
    return this.format(Intl.DateTimeFormat, how, time);
  }

  /** A button that tells the agent; `mark` says whether it is what was chosen. */
  button(parent, { action, label, payload, style }, use) {
    const { add } = this.kit;
    const button = add(parent, 'button|type=button|part=widget__button|class=widget-button|dir=auto', label);
    if (style === 'primary' || style === 'danger') {
      button.classList.add(style);
      button.part.add(`widget__button--${style}`);
    }
    const { answer } = use;
    const isChosen = answer?.action === action && JSON.stringify(answer.payload) === JSON.stringify(payload);
    if (isChosen) use.chosen = label;
    button.disabled = use.locked;
    button.addEventListener('click', () => use.act(action, payload));
  }

  /** A table, with what people call it, its columns and the values of each row. */
  table(parent, title, columns, rows) {
    const { add, label } = this.kit;
    // It may scroll, so keys must reach it.
    const box = add(parent, 'div|class=widget-scroll|role=group|tabindex=0');
    const table = add(box, 'table|part=widget__table|class=widget-table');
    if (title) {
      label(box, title);
      add(table, 'caption|class=widget-title|dir=auto', title);
    } else {
      label(box, columns.map((column) => column.label).join(', '));
    }
    const align = (cell, { align: side, type }, isNumber) => {
      cell.dataset.align = side ?? (isNumber || (type && !['text', 'date', 'datetime'].includes(type)) ? 'end' : 'start');
    };
    const isNumeric = columns.map((_, at) => rows.some((row) => typeof row[at] === 'number'));
    const head = add(add(table, 'thead'), 'tr');
    for (const [at, column] of columns.entries()) align(add(head, 'th|scope=col|dir=auto', column.label), column, isNumeric[at]);
    const body = add(table, 'tbody');
    for (const row of rows) {
      const line = add(body, 'tr');
      for (const [at, column] of columns.entries()) {
        const cell = add(line, `${at ? 'td' : 'th|scope=row'}|dir=auto`);
        align(cell, column, isNumeric[at]);
        this.value(cell, row[at], column);
      }
    }
  }
}

/** `{ title, columns, rows }` */
export function table(parts, box, doc) {
  const title = read.maybe(doc.title, read.line);
  const columns = read.list(doc.columns, 1, 20, (column) => {
    const { key, label, align } = read.object(column);
    return { key: read.word(key), label: read.word(label), align: read.maybe(align, read.one, ['start', 'center', 'end']), ...read.form(column) };
  });
  const cell = (row, key) => (Object.hasOwn(row, key) ? read.value(row[key]) : null);
  const rows = read.list(doc.rows, 0, 200, (row) => columns.map(({ key }) => cell(read.object(row), key)));
  parts.table(box, title, columns, rows);
}
