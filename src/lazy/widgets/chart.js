// Charts: an SVG with a name and a description, marks that differ by more than their colour,
// and the numbers as a table.

import { newId } from './parts.js';
import * as read from './read.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 360;
const HEIGHT = 200;
/** Where the plot lies. */
const [LEFT, TOP, RIGHT, BOTTOM] = [44, 10, 352, 172];
/** How wide a letter is, about. */
const LETTER = 7.6;
/** What lies over the colour of each series: lines and dots. */
const PATTERNS = ['', 'M0 6L6 0', 'M1 1h1v1h-1zM4 4h1v1h-1z', 'M0 3h6', 'M3 0v6', 'M0 0l6 6M6 0l-6 6'];
/** The marks of the points of each line, around 0 0. */
const MARKS = [
  'M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z',
  'M-3-3h6v6h-6z',
  'M0-4l4 7h-8z',
  'M0-4.5l4.5 4.5L0 4.5L-4.5 0z',
  'M0 4l4-7h-8z',
  'M-4-1.3h2.7V-4h2.6v2.7H4v2.6H1.3V4h-2.6V1.3H-4z',
];
const DASHES = ['', '7 3', '2 3', '9 3 2 3', '4 2', '1 2'];

function draw(parent, tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

/** Patterns by their number, for one picture. */
function patterns(svg) {
  const base = newId();
  const defs = draw(svg, 'defs', {});
  for (const [at, path] of PATTERNS.entries()) {
    if (!path) continue;
    const pattern = draw(defs, 'pattern', { id: `${base}-${at}`, width: 6, height: 6, patternUnits: 'userSpaceOnUse' });
    draw(pattern, 'path', { d: path, class: 'widget-pattern' });
  }
  return (at) => (PATTERNS[at] ? `url(#${base}-${at})` : undefined);
}

/** A shape in the colour and the pattern of a series. */
function filled(parent, pattern, at, tag, attributes) {
  const [color, over] = [at % 6, (at + 3 * Math.floor(at / 6)) % 6];
  const shape = draw(parent, tag, { ...attributes, class: `widget-fill c${color}` });
  const url = pattern(over);
  if (url) draw(parent, tag, { ...attributes, fill: url, class: 'widget-over' });
  return shape;
}

/** Round steps from a number at or below `low` to one at or above `high`. */
function scale(low, high) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((times) => times * power >= rough * 0.999);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(Math.ceil(high / step - 1e-9), first + 1);
  return { step, first, last };
}

function axes(parts, svg, { labels, values }) {
  const numbers = values.filter((value) => value !== null);
  const { step, first, last } = scale(Math.min(0, ...numbers), Math.max(0, ...numbers));
  const y = (value) => BOTTOM - ((value / step - first) / (last - first)) * (BOTTOM - TOP);
  const words = (value) => parts.format(Intl.NumberFormat, { notation: 'compact', maximumFractionDigits: 2 }, value);
  for (let tick = first; tick <= last; tick += 1) {
    const at = y(tick * step);
    draw(svg, 'path', { d: `M${LEFT} ${at}H${RIGHT}`, class: tick ? 'widget-grid' : 'widget-axis' });
    draw(svg, 'text', { x: LEFT - 6, y: at + 4, 'text-anchor': 'end' }, words(tick * step));
  }
  const slot = (RIGHT - LEFT) / labels.length;
  const x = (at) => LEFT + slot * (at + 0.5);
  // Every label that has room, cut to it.
  const every = Math.ceil(Math.min(44, Math.max(...labels.map((label) => label.length)) * LETTER) / slot);
  const room = Math.max(1, Math.floor((slot * every) / LETTER) - 1);
  for (let at = 0; at < labels.length; at += every) {
    const letters = [...labels[at]];
    const shown = letters.length > room + 1 ? `${letters.slice(0, room).join('')}\u2026` : labels[at];
    draw(svg, 'text', { x: x(at), y: BOTTOM + 17, 'text-anchor': 'middle' }, shown);
  }
  return { x, y, slot };
}

function bars(parts, svg, chart, say) {
  const { x, y, slot } = axes(parts, svg, chart);
  const pattern = patterns(svg);
  const wide = Math.min(40, (slot * 0.76) / chart.series.length);
  for (const [s, { name, values }] of chart.series.entries()) {
    for (const [at, value] of values.entries()) {
      if (value === null) continue;
      const left = x(at) + (s - chart.series.length / 2) * wide;
      const [top, end] = [y(Math.max(value, 0)), y(Math.min(value, 0))];
      const shape = { x: left + wide * 0.04, y: top, width: wide * 0.92, height: Math.max(end - top, 0.5), rx: Math.min(2, wide / 4) };
      draw(filled(svg, pattern, s, 'rect', shape), 'title', {}, say(chart.labels[at], name, value));
    }
  }
}

function lines(parts, svg, chart, say) {
  const { x, y } = axes(parts, svg, chart);
  for (const [s, { name, values }] of chart.series.entries()) {
    let path = '';
    let isOpen = false;
    for (const [at, value] of values.entries()) {
      if (value !== null) path += `${isOpen ? 'L' : 'M'}${x(at)} ${y(value)}`;
      isOpen = value !== null;
    }
    draw(svg, 'path', { d: path, class: `widget-line c${s}`, 'stroke-dasharray': DASHES[s] });
    for (const [at, value] of values.entries()) {
      if (value === null) continue;
      const mark = draw(svg, 'path', { d: MARKS[s], class: `widget-fill c${s}`, transform: `translate(${x(at)} ${y(value)})` });
      draw(mark, 'title', {}, say(chart.labels[at], name, value));
    }
  }
}

function pie(_parts, svg, chart, say) {
  const pattern = patterns(svg);
  const [{ values, name }] = chart.series;
  const total = values.reduce((sum, value) => sum + (value ?? 0), 0);
  const [cx, cy, r] = [WIDTH / 2, HEIGHT / 2, HEIGHT / 2 - 6];
  const point = (part) => {
    const angle = 2 * Math.PI * part - Math.PI / 2;
    return `${cx + r * Math.cos(angle)} ${cy + r * Math.sin(angle)}`;
  };
  let from = 0;
  for (const [at, value] of values.entries()) {
    if (!value) continue;
    const to = from + value / total;
    const whole = { cx, cy, r };
    const slice = { d: `M${cx} ${cy}L${point(from)}A${r} ${r} 0 ${to - from > 0.5 ? 1 : 0} 1 ${point(to)}z` };
    const [tag, shape] = to - from > 0.9999 ? ['circle', whole] : ['path', slice];
    draw(filled(svg, pattern, at, tag, shape), 'title', {}, say(chart.labels[at], name, value));
    from = to;
  }
}

/** What the marks mean, with the share of each slice of a pie. */
function legend(parts, figure, chart) {
  const { add } = parts.kit;
  const [{ values }] = chart.series;
  const isPie = chart.type === 'pie';
  if (!isPie && chart.series.length < 2) return;
  const total = values.reduce((sum, value) => sum + (value ?? 0), 0);
  const list = add(figure, 'ul|class=widget-legend|role=list');
  for (const [at, words] of (isPie ? chart.labels : chart.series.map(({ name }) => name)).entries()) {
    const item = add(list, 'li|dir=auto');
    const svg = draw(item, 'svg', { viewBox: '-9 -7 18 14', 'aria-hidden': true });
    if (chart.type === 'line') {
      draw(svg, 'path', { d: 'M-9 0H9', class: `widget-line c${at}`, 'stroke-dasharray': DASHES[at] });
      draw(svg, 'path', { d: MARKS[at], class: `widget-fill c${at}` });
    } else {
      filled(svg, patterns(svg), at, 'rect', { x: -7, y: -6, width: 14, height: 12, rx: 2 });
    }
    add(item, 'span', isPie && total ? `${words} (${parts.words((values[at] ?? 0) / total, 'percent')})` : words);
  }
}

function readChart(doc) {
  const type = read.one(doc.type, ['bar', 'line', 'pie']);
  const isPie = type === 'pie';
  const labels = read.list(doc.labels, 1, isPie ? 12 : 50, read.word);
  const value = (value) => (value === null ? null : read.number(value, isPie ? 0 : undefined));
  const series = read.list(doc.series, 1, isPie ? 1 : 6, (given) => {
    const { name, values } = read.object(given);
    const list = read.list(values, 1, 50, value);
    return { name: read.word(name), values: labels.map((_, at) => list[at] ?? null) };
  });
  return { type, labels, series, title: read.line(doc.title), unit: read.maybe(doc.unit, read.line, 20) };
}

/** `{ type, title, unit?, labels, series }` */
export function chart(parts, box, doc, use) {
  const { add, text: say } = parts.kit;
  const chart = readChart(doc);
  const { title, unit, labels, series } = chart;
  chart.values = series.flatMap(({ values }) => values);
  const number = (value) => `${parts.words(value)}${unit ? ` ${unit}` : ''}`;
  const measured = unit ? `${title} (${unit})` : title;
  const spoken = (label, name, value) => `${label}, ${name}: ${number(value)}`;
  parts.title(box, chart.type === 'pie' ? title : measured);
  const figure = add(box, 'div|part=widget__chart|class=widget-chart');
  const svg = draw(figure, 'svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', direction: 'ltr' });
  const [name, description] = [newId(), newId()];
  draw(svg, 'title', { id: name }, title);
  draw(svg, 'desc', { id: description }, use.summary);
  svg.setAttribute('aria-labelledby', name);
  svg.setAttribute('aria-describedby', description);
  ({ bar: bars, line: lines, pie })[chart.type](parts, svg, chart, spoken);
  legend(parts, figure, chart);
  const place = add(box, 'div|hidden');
  const button = add(box, 'button|type=button|part=widget__button|class=widget-toggle', say('showTable'));
  button.addEventListener('click', () => {
    if (!place.firstChild) {
      const columns = [{ label: say('label') }, ...series.map(({ name }) => ({ label: name }))];
      // It stands over it already.
      parts.table(place, measured, columns, labels.map((label, at) => [label, ...series.map(({ values }) => values[at])]));
      place.querySelector('caption').className = 'unseen';
    }
    figure.hidden = place.hidden;
    place.hidden = !place.hidden;
    figure.hidden = !place.hidden;
    button.textContent = say(place.hidden ? 'showTable' : 'showChart');
  });
}
