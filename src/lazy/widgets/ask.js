// What a person fills in: a form, or choices.

import { newId } from './parts.js';
import * as read from './read.js';

const TEXTS = ['text', 'email', 'tel', 'url'];
const TYPES = [...TEXTS, 'multiline', 'number', 'date', 'time', 'select', 'checkbox'];

function readField(given) {
  const { name, label, type, hint, placeholder, value, options, min, max, step, minLength, maxLength } = read.object(given);
  const edge = (edge) => (typeof edge === 'number' ? read.number(edge) : read.text(edge, 30));
  return {
    name: /^[\w-]{1,64}$/.test(name) ? name : read.unfit(),
    label: read.line(label),
    type: read.one(type, TYPES),
    required: read.flag(given.required),
    hint: read.maybe(hint, read.line),
    placeholder: read.maybe(placeholder, read.text, 100),
    value: read.maybe(value, read.value),
    options: type === 'select' ? read.list(options, 1, 100, readOption) : [],
    // Set as attributes; what a type does not know does nothing.
    limits: {
      min: read.maybe(min, edge),
      max: read.maybe(max, edge),
      step: type === 'number' ? (read.maybe(step, read.number, Number.MIN_VALUE) ?? 'any') : undefined,
      minlength: read.maybe(minLength, read.number, 0, 10_000),
      maxlength: read.maybe(maxLength, read.number, 1, 10_000),
    },
  };
}

function readOption(given) {
  const { value, label } = read.object(given);
  return { value: read.line(value), label: read.line(label) };
}

/** What is asked together: a form whose first part is locked as one. */
function start(parts, box, use) {
  const { add } = parts.kit;
  const form = add(box, 'form|class=widget-form');
  // Errors stand where they belong, not in bubbles of the browser.
  form.noValidate = true;
  const set = add(form, 'fieldset');
  set.disabled = use.locked;
  const legend = add(set, 'legend|part=widget__title|class=widget-title|dir=auto');
  return { form, set, legend };
}

function finish(parts, { form, set }, label, use, send) {
  const { add } = parts.kit;
  if (!use.locked) add(set, 'button|type=submit|part=widget__button widget__button--primary|class=widget-button primary|dir=auto', label);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
}

/** What is wrong with a control, in the reader's words: browsers speak their own language. */
function fault(parts, { type, control }) {
  const { validity, min, max, minLength } = control;
  const edge = (value) => (type === 'date' ? parts.words(value, 'date') : type === 'number' ? parts.words(Number(value)) : value);
  const { text } = parts.kit;
  if (validity.valid) return '';
  if (validity.valueMissing && !validity.badInput) return text('fieldMissing');
  if (validity.typeMismatch) return text(type === 'email' ? 'fieldEmail' : 'fieldUrl');
  if (validity.tooShort) return text('fieldShort', { limit: minLength });
  if (validity.rangeUnderflow) return text('fieldMin', { limit: edge(min) });
  if (validity.rangeOverflow) return text('fieldMax', { limit: edge(max) });
  return text('fieldBad');
}

/** Says under a field what is wrong with it; true if nothing is. */
function check(kit, field, control, message) {
  field.querySelector('.widget-error')?.remove();
  control.removeAttribute('aria-invalid');
  const ids = [field.dataset.hint].filter(Boolean);
  if (message) {
    const error = kit.add(field, 'p|part=widget__error|class=widget-error|dir=auto', message);
    ids.push((error.id = newId()));
    control.setAttribute('aria-invalid', true);
  }
  if (ids.length) control.setAttribute('aria-describedby', ids.join(' '));
  else control.removeAttribute('aria-describedby');
  return !message;
}

function makeControl(kit, place, { type, options, placeholder, limits }) {
  const { add, text: say } = kit;
  const looks = 'part=widget__input|class=widget-input|dir=auto';
  let control;
  if (type === 'multiline') {
    control = add(place, `textarea|rows=3|${looks}`);
  } else if (type === 'select') {
    control = add(place, `select|${looks}`);
    add(control, 'option', say('choose')).value = '';
    for (const { value, label } of options) add(control, 'option', label).value = value;
  } else {
    control = add(place, type === 'checkbox' ? 'input|type=checkbox|part=widget__check|class=widget-check' : `input|type=${type}|${looks}`);
  }
  if (placeholder) control.placeholder = placeholder;
  for (const [name, value] of Object.entries(limits)) if (value !== undefined) control.setAttribute(name, value);
  return control;
}

function drawField(parts, set, field) {
  const { kit } = parts;
  const { type, name, hint, required } = field;
  const row = kit.add(set, `div|class=widget-field${type === 'checkbox' ? ' checks' : ''}`);
  const label = () => {
    const words = kit.add(row, 'label|dir=auto', field.label);
    if (required) kit.add(words, 'span|aria-hidden=true', ' *');
    return words;
  };
  const first = type === 'checkbox' ? undefined : label();
  const control = makeControl(kit, row, field);
  (first ?? label()).htmlFor = control.id = newId();
  control.required = Boolean(required);
  if (hint) row.dataset.hint = kit.add(row, 'p|class=widget-hint|dir=auto', hint).id = newId();
  check(kit, row, control);
  return { name, type, row, control };
}

function fill({ type, control }, value) {
  if (type === 'checkbox') control.checked = value === true;
  else control.value = value === undefined || value === null ? '' : String(value);
}

/** What stands in the fields; what is empty is left out. */
function valuesOf(controls) {
  const values = {};
  for (const { name, type, control } of controls) {
    if (type === 'checkbox') values[name] = control.checked;
    else if (control.value !== '') values[name] = type === 'number' ? control.valueAsNumber : control.value;
  }
  return values;
}

/** `{ title, text?, fields, submit }` */
export function form(parts, box, doc, use) {
  const { kit } = parts;
  const title = read.line(doc.title);
  const text = read.maybe(doc.text, read.text);
  const fields = read.distinct(read.list(doc.fields, 1, 30, readField), 'name');
  const submit = read.action(doc.submit);
  use.takes();
  const place = start(parts, box, use);
  place.legend.textContent = title;
  parts.text(place.set, text);
  const given = use.answer ? read.object(use.answer.payload ?? {}) : use.draft;
  const controls = fields.map((field) => drawField(parts, place.set, field));
  for (const [at, drawn] of controls.entries()) {
    const { name, value } = fields[at];
    fill(drawn, given ? (Object.hasOwn(given, name) ? given[name] : undefined) : value);
    drawn.control.addEventListener('input', () => {
      check(kit, drawn.row, drawn.control);
      use.keep(valuesOf(controls));
    });
  }
  finish(parts, place, submit.label, use, () => {
    const wrong = controls.filter((field) => !check(kit, field.row, field.control, fault(parts, field)));
    if (wrong.length) return wrong[0].control.focus();
    use.act(submit.action, valuesOf(controls));
  });
}

/** `{ question, text?, mode?, options, submit? }` */
export function choices(parts, box, doc, use) {
  const { kit } = parts;
  const question = read.line(doc.question);
  const text = read.maybe(doc.text, read.text);
  const many = read.maybe(doc.mode, read.one, ['single', 'multiple']) === 'multiple';
  const options = read.list(doc.options, 1, 50, (option) => {
    const { id, label, description } = read.object(option);
    return { id: read.word(id), label: read.line(label), description: read.maybe(description, read.text, 500) };
  });
  const submit = read.maybe(doc.submit, read.action) ?? { action: 'choose', label: kit.text('send') };
  read.distinct(options, 'id');
  use.takes();
  const place = start(parts, box, use);
  place.legend.textContent = question;
  parts.text(place.set, text);
  const given = use.answer ? use.answer.payload?.selected : use.draft;
  const isChosen = ({ id }) => Array.isArray(given) && given.includes(id);
  if (use.answer) use.chosen = options.filter(isChosen).map(({ label }) => label).join(', ') || undefined;
  const group = newId();
  const selected = () => options.filter((_, at) => inputs[at].checked).map(({ id }) => id);
  const list = kit.add(place.set, 'div|class=widget-options');
  const inputs = options.map((option) => {
    const { label, description } = option;
    const row = kit.add(list, 'label|part=widget__option|class=widget-option');
    const input = kit.add(row, `input|type=${many ? 'checkbox' : 'radio'}|class=widget-check`);
    input.name = group;
    input.checked = isChosen(option);
    const words = kit.add(row, 'span|class=widget-words');
    kit.add(words, 'span|class=widget-name|dir=auto', label);
    if (description) kit.add(words, 'span|class=widget-hint|dir=auto', description);
    input.addEventListener('change', () => {
      say();
      use.keep(selected());
    });
    return input;
  });
  const error = kit.add(place.set, 'p|part=widget__error|class=widget-error|role=alert|dir=auto|hidden');
  const say = (words = '') => {
    error.hidden = !words;
    error.textContent = words;
  };
  finish(parts, place, submit.label, use, () => {
    const chosen = selected();
    if (chosen.length) return use.act(submit.action, { selected: chosen });
    say(kit.text('chooseOne'));
    inputs[0].focus();
  });
}
