// What is looked at, with buttons: a card, a list, a progress.

import * as read from './read.js';

/** `{ title, subtitle?, text?, image?, href?, fields?, actions?, repeat? }` */
export function card(parts, box, doc, use) {
  const { add } = parts.kit;
  const { title, subtitle, text, image, href } = {
    title: read.line(doc.title),
    subtitle: read.maybe(doc.subtitle, read.line),
    text: read.maybe(doc.text, read.text),
    image: read.maybe(doc.image, read.image),
    href: read.maybe(doc.href, read.href),
  };
  const fields = read.list(doc.fields ?? [], 0, 40, (field) => {
    const { label, value, href: to } = read.object(field);
    return { label: read.word(label), value: read.value(value), href: read.maybe(to, read.href), ...read.form(field) };
  });
  const actions = read.list(doc.actions ?? [], 0, 6, read.action);
  if (image) parts.image(box, image);
  parts.title(box, title, href);
  if (subtitle) add(box, 'p|class=widget-subtitle|dir=auto', subtitle);
  parts.text(box, text);
  if (fields.length) {
    const list = add(box, 'dl|part=widget__fields|class=widget-fields');
    for (const field of fields) {
      const pair = add(list, 'div');
      add(pair, 'dt|dir=auto', field.label);
      parts.value(add(pair, 'dd|dir=auto'), field.value, field, field.href);
    }
  }
  if (!actions.length) return;
  use.takes(read.flag(doc.repeat));
  const buttons = add(box, 'div|class=widget-buttons');
  for (const action of actions) parts.button(buttons, action, use);
}

/** `{ title?, ordered?, items, repeat? }` */
export function list(parts, box, doc, use) {
  const { add } = parts.kit;
  const title = read.maybe(doc.title, read.line);
  const items = read.list(doc.items, 1, 100, (item) => {
    const { title: name, text, icon, image, href, action } = read.object(item);
    return {
      title: read.line(name),
      text: read.maybe(text, read.text, 1000),
      icon: read.maybe(icon, read.line, 8),
      image: read.maybe(image, read.image),
      href: read.maybe(href, read.href),
      action: read.maybe(action, read.action),
    };
  });
  if (items.some(({ action }) => action)) use.takes(read.flag(doc.repeat));
  if (title) parts.title(box, title);
  const rows = add(box, `${read.flag(doc.ordered) ? 'ol' : 'ul|role=list'}|part=widget__list|class=widget-list`);
  for (const item of items) {
    const row = add(add(rows, 'li'), 'div|class=widget-item');
    if (item.icon) add(row, 'span|class=widget-icon|aria-hidden=true', item.icon);
    const words = add(row, 'div|class=widget-words');
    parts.linked(add(words, 'p|class=widget-name|dir=auto'), item.title, item.href);
    parts.text(words, item.text);
    if (item.image) parts.image(words, item.image);
    if (item.action) parts.button(row, item.action, use);
  }
}

const STATES = {
  done: ['toolDone', 'M5 12.5l4.5 4.5L19 7.5'],
  active: ['stepActive', 'M12 3a9 9 0 1 1-9 9'],
  waiting: ['stepWaiting', 'M21 12a9 9 0 1 1-18 0 9 9 0 0 1 18 0'],
  failed: ['toolFailed', 'M7 7l10 10M17 7L7 17'],
};

/** `{ title, text?, value?, steps? }` */
export function progress(parts, box, doc) {
  const { add, icon, label, text: say } = parts.kit;
  const title = read.line(doc.title);
  const text = read.maybe(doc.text, read.text);
  const value = read.maybe(doc.value, read.number, 0, 1);
  const steps = read.maybe(doc.steps, (given) =>
    read.list(given, 1, 30, (step) => ({ label: read.line(read.object(step).label), state: read.one(step.state, Object.keys(STATES)) })),
  );
  if (value === undefined && !steps) read.unfit();
  parts.title(box, title);
  parts.text(box, text);
  if (value !== undefined) {
    const line = add(box, 'div|class=widget-meter');
    const bar = add(line, 'progress|part=widget__progress|max=1');
    label(bar, title);
    bar.value = value;
    add(line, 'span', parts.words(value, 'percent'));
  }
  if (!steps) return;
  const rows = add(box, 'ol|part=widget__steps|class=widget-steps|role=list');
  for (const step of steps) {
    const [said, path] = STATES[step.state];
    const row = add(rows, `li|data-state=${step.state}${step.state === 'active' ? '|aria-current=step' : ''}`);
    icon(row, path);
    add(row, 'span|class=unseen', `${say(said)}: `);
    add(row, 'span|dir=auto', step.label);
  }
}
