// Colours of code: a small tokenizer, one line at a time, for the languages people paste most.

import { LANGUAGES, NAMES } from './highlight/languages.js';

/** What is coloured; the style sheet of answers has a colour for each. */
const KINDS = ['comment', 'string', 'number', 'keyword', 'name', 'type', 'tag', 'meta'];

/** The highlight of a kind, one for all panels of the page. */
function highlight(kind) {
  const name = `mindset-${kind}`;
  if (!CSS.highlights.has(name)) CSS.highlights.set(name, new Highlight());
  return CSS.highlights.get(name);
}

/** One tokenizer for each language that was asked for. */
const known = new Map();

/** `(line, state) => [[[start, end, kind], …], state]`, or nothing for a language without colours. */
function language(name) {
  const rules = LANGUAGES[NAMES[name] ?? name];
  if (!rules) return undefined;
  if (!known.has(rules)) known.set(rules, tokenizer(rules));
  return known.get(rules);
}

function tokenizer({ rules, words = '', types = '', constants = 'true false null', caseless, capitals }) {
  const lists = [
    ['keyword', words],
    ['type', types],
    ['number', constants],
  ].map(([kind, list]) => [kind, new Set(list.split(' ').filter(Boolean))]);
  const pattern = new RegExp(rules.map(({ from }) => `(${from})`).join('|'), 'gm');
  const kindOf = (word, after) => {
    const plain = caseless ? word.toLowerCase() : word;
    const listed = lists.find(([, set]) => set.has(plain))?.[0];
    if (listed) return listed;
    if (after === '(') return 'name';
    return capitals && /^[A-Z]\w*[a-z]/.test(word) ? 'type' : undefined;
  };
  return (line, open) => {
    const found = [];
    const add = (start, end, kind) => kind && end > start && found.push([start, end, kind]);
    let at = 0;
    const leave = () => {
      const end = new RegExp(open.to, 'g');
      end.lastIndex = at;
      const match = end.exec(line);
      const stop = match ? match.index + match[0].length : line.length;
      add(at, stop, open.kind);
      at = stop;
      if (match) open = undefined;
    };
    if (open) leave();
    while (!open && at < line.length) {
      pattern.lastIndex = at;
      const match = pattern.exec(line);
      if (!match || !match[0]) break;
      const rule = rules[match.slice(1).findIndex((group) => group !== undefined)];
      const end = match.index + match[0].length;
      if (rule.to) {
        open = { kind: rule.kind, to: rule.to };
        at = end;
        const start = match.index;
        leave();
        if (found.length && found.at(-1)[0] === end) found.at(-1)[0] = start;
        else add(start, end, rule.kind);
      } else {
        add(match.index, end, rule.kind === 'word' ? kindOf(match[0], line[end]) : rule.kind);
        at = end;
      }
    }
    return [found, open];
  };
}

export default { KINDS, highlight, language };
