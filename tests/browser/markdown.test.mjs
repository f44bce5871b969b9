// Answers as Markdown: what a person sees while one streams in, and at its end.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { suite } from '../support/suite.mjs';
import { until } from '../support/wait.mjs';

const s = suite();

/** The body of the last answer, in the page. */
const FIND = `window.answer = () => [...document.getElementById('agent').shadowRoot.querySelectorAll('[data-role="assistant"] > [part~="message__body"]')].at(-1);`;

/** A page whose next run the test writes. */
async function ready(options) {
  const host = await s.ready({ head: `<script>${FIND}</script>`, ...options });
  s.runtime.hold();
  host.turn = host.send('go', { silent: true });
  host.writing = (await s.runtime.nextRun()).start();
  return host;
}

/** Says a piece and waits until it is drawn. */
async function say(host, piece) {
  const before = (await host.names()).filter((name) => name === 'text-delta').length;
  host.writing.say(piece);
  await host.saw('text-delta', before + 1);
  await host.run(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

async function end(host) {
  host.writing.finish();
  await host.turn;
}

/** The answer as tags and texts, without what is not in the source. */
function tree(host) {
  return host.run(() => {
    const plain = (node) => {
      if (node.nodeType === 3) return node.data;
      const name = node.localName;
      if (name === 'button' || name === 'svg' || node.className === 'code-head') return '';
      const inner = [...node.childNodes].map(plain).join('');
      return ['div', 'span', 'i'].includes(name) ? inner : `<${name}>${inner}</${name}>`;
    };
    return [...window.answer().childNodes].map(plain).join('');
  });
}

test('a finished paragraph keeps its node, and a selection in it', async () => {
  const host = await ready();
  await say(host, 'First *one*.\n\nSec');
  await host.run(() => {
    window.first = window.answer().querySelector('p');
    getSelection().setBaseAndExtent(window.first.firstChild, 0, window.first.firstChild, 5);
  });
  for (const piece of ['ond.\n\n', 'Third **one', '** and the end.\n\n- a\n- b\n']) await say(host, piece);
  await end(host);
  assert.deepEqual(await host.run(() => [window.first === window.answer().querySelector('p'), window.first.isConnected, getSelection().toString()]), [true, true, 'First']);
  assert.equal(await tree(host), '<p>First <em>one</em>.</p><p>Second.</p><p>Third <strong>one</strong> and the end.</p><ul><li><p>a</p></li><li><p>b</p></li></ul>');
});

test('a blank line in an open fence is code', async () => {
  const host = await ready();
  for (const piece of ['```js\na\n', '\nb\n', '```\n']) await say(host, piece);
  await end(host);
  assert.deepEqual(await host.run(() => [...window.answer().querySelectorAll('pre')].map((pre) => pre.textContent)), ['a\n\nb']);
});

for (const [name, pieces, never] of [
  ['a half closer of strong', ['**bo', 'ld', '*', '*'], 'em'],
  ['a half closer of strike', ['~~go', 'ne', '~', '~'], 'em, sub'],
]) {
  test(`${name} is never another construct`, async () => {
    const host = await ready();
    await host.run((never) => {
      window.seen = [];
      const look = () => window.answer()?.querySelector(never) && window.seen.push(window.answer().textContent);
      new MutationObserver(look).observe(document.getElementById('agent').shadowRoot, { childList: true, subtree: true, characterData: true });
    }, never);
    for (const piece of pieces) {
      await say(host, piece);
      assert.doesNotMatch(await host.run(() => window.answer().textContent), /[*~]/);
    }
    await end(host);
    assert.deepEqual(await host.run(() => window.seen), []);
  });
}

test('an unfinished link is its label, then one link', async () => {
  const host = await ready();
  for (const piece of ['[docs](htt', 'ps://e.com/a']) {
    await say(host, piece);
    assert.equal(await host.run(() => window.answer().textContent), 'docs');
  }
  await say(host, '_b)');
  await end(host);
  const links = await host.run(() => [...window.answer().querySelectorAll('a')].map((a) => [a.textContent, a.href, a.target, a.rel, a.dataset.host, a.title]));
  assert.deepEqual(links, [['docs', 'https://e.com/a_b', '_blank', 'noopener noreferrer', 'e.com', 'https://e.com/a_b']]);
});

test('a link in bold in a list shows nothing of its source, at any character', async () => {
  const host = await ready();
  await host.run(() => {
    window.seen = new Set();
    new MutationObserver(() => window.answer() && window.seen.add(window.answer().textContent)).observe(
      document.getElementById('agent').shadowRoot, { childList: true, subtree: true, characterData: true },
    );
  });
  for (const character of '- **[a](https://e.com/x)**') await say(host, character);
  await end(host);
  assert.deepEqual((await host.run(() => [...window.seen])).filter((text) => text.trim() && text !== 'a'), []);
  assert.equal(await tree(host), '<ul><li><p><strong><a>a</a></strong></p></li></ul>');
});

test('the end of a message settles a table without a last newline', async () => {
  const host = await ready();
  await say(host, '|a|b|\n|-|-|\n|1|2|');
  await end(host);
  assert.equal(await tree(host), '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>');
  const box = host.panel.host.locator('[part~="table"]');
  assert.deepEqual([await box.getAttribute('tabindex'), await box.getAttribute('aria-label')], ['0', 'Table']);
});

test('a stop and a broken connection settle what stands there', async () => {
  const host = await ready();
  await say(host, 'Half **bold');
  await host.panel.stopButton.click();
  await host.turn;
  assert.equal(await tree(host), '<p>Half **bold</p>');
});

for (const [source, drawn] of [
  ['# A\n\n### B', '<h3>A</h3><h4>B</h4>'],
  ['1. a\n\n2. b', '<ol><li><p>a</p></li><li><p>b</p></li></ol>'],
  ['> a\n> > b', '<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>'],
  ['a\\\nb', '<p>a<br></br>b</p>'],
  ['a\n\n***\n\n`b <i>`', '<p>a</p><hr></hr><p><code>b <i></code></p>'],
  ['- [x] a\n- [ ] b', '<ul><li><input></input><p>a</p></li><li><input></input><p>b</p></li></ul>'],
  ['[a]\n\n[a]: https://e.com', '<p><a>a</a></p>'],
  ['<b onclick=x>&amp;', '<p><b onclick=x>&</p>'],
]) {
  test(`${JSON.stringify(source)} is drawn`, async () => {
    const host = await s.ready({ head: `<script>${FIND}</script>` });
    s.runtime.onRun = (run) => run.start().say(source).finish();
    await host.send('go');
    assert.equal(await tree(host), drawn);
  });
}

test('no link that runs something, whatever stands in the answer', async () => {
  const host = await s.ready({ head: `<script>${FIND}</script>` });
  const sources = ['[x](javascript:a)', '[x](JaVa&#10;script:a)', '[x](data:text/html,b)', '<img src=x onerror=a>', '<svg onload=a>', '<javascript:a>', '[x](vbscript:a)', '[x](java\tscript:a)'];
  s.runtime.onRun = (run) => run.start().say(sources.join('\n\n')).finish();
  await host.send('go');
  assert.deepEqual(await host.run(() => [...window.answer().querySelectorAll('[href], img, svg, [onerror], [onload]')].map((node) => node.outerHTML)), []);
});

test('a picture asks for nothing until a person wants it or the page allows its origin', async () => {
  const host = await s.ready({ head: `<script>${FIND}</script>` });
  const here = s.runtime.origin;
  s.runtime.page('/p.svg', '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>', { 'content-type': 'image/svg+xml' });
  s.runtime.onRun = (run) => run.start().say(`![a](https://evil.example/?q=1) ![b][r] ![mine](${here}/p.svg)\n\n<img src="https://evil.example/c">\n\n[r]: https://evil.example/d`).finish();
  const before = host.requests.length;
  await host.send('go');
  await host.panel.shows('Image from evil.example');
  const asked = () => host.requests.slice(before).filter((url) => /evil|p\.svg/.test(url));
  assert.deepEqual(asked(), []);
  assert.equal(await host.run(() => window.answer().querySelectorAll('img').length), 0);
  await host.panel.host.getByRole('button', { name: /^Load image: mine/ }).click();
  await until(() => asked().length === 1, 'the picture to be asked for');
  const image = await host.run(() => {
    const { alt, referrerPolicy, loading, src } = window.answer().querySelector('img');
    return { alt, referrerPolicy, loading, src };
  });
  assert.deepEqual(image, { alt: 'mine', referrerPolicy: 'no-referrer', loading: 'lazy', src: `${here}/p.svg` });
  await host.run((here) => { document.getElementById('agent').imageOrigins = `https://other.example, ${here}`; }, here);
  await host.send('again');
  await until(() => asked().length >= 1 && host.run(() => window.answer().querySelectorAll('img').length === 1), 'the allowed picture');
  assert.deepEqual(asked().filter((url) => url.includes('evil')), []);
});

test('code has a label and a button that copies; its finished lines get colours', async () => {
  const host = await ready({ context: { permissions: ['clipboard-read', 'clipboard-write'] } });
  const lines = Array.from({ length: 80 }, (_, at) => `const a${at} = "text"; // ${at}`);
  await say(host, `\`\`\`js\n${lines.slice(0, 40).join('\n')}`);
  await until(() => host.run(() => CSS.highlights.get('mindset-comment')?.size > 0), 'colours of an open block');
  await host.run(() => { window.line = window.answer().querySelector('code .lines').firstChild; });
  await say(host, `\n${lines.slice(40).join('\n')}\n\`\`\``);
  await end(host);
  assert.equal(await host.run(() => window.line === window.answer().querySelector('code .lines').firstChild), true);
  assert.equal(await host.panel.host.locator('.language').textContent(), 'js');
  await host.panel.host.getByRole('button', { name: 'Copy' }).first().click();
  await host.panel.host.getByRole('button', { name: 'Copied' }).waitFor();
  assert.equal(await host.run(() => navigator.clipboard.readText()), lines.join('\n'));
  const ranges = await host.run(() => [...CSS.highlights.values()].reduce((sum, { size }) => sum + size, 0));
  await host.run(() => document.getElementById('agent').remove());
  await until(() => host.run(() => [...CSS.highlights.values()].every(({ size }) => size === 0)), `${ranges} colours to go with the element`);
});

test('lists, tables and quotes have the direction of their text', async () => {
  const host = await ready();
  const words = (one, two) => `${one}\n\n1. ${one}\n2. ${two}\n\n- [x] ${one}\n\n| ${one} | ${two} |\n|---|---|\n| ${one} | 2 |\n\n> ${one}\n\n> - ${one}\n\n`;
  await say(host, words('مرحبا', 'كتاب'));
  await say(host, words('Hello', 'Book'));
  await end(host);
  const found = await host.run(() => [...window.answer().querySelectorAll('ol, ul, table, blockquote')].map((e) => [e.localName, getComputedStyle(e).direction]));
  const blocks = ['ol', 'ul', 'table', 'blockquote', 'blockquote', 'ul'];
  assert.deepEqual(found, ['rtl', 'ltr'].flatMap((direction) => blocks.map((name) => [name, direction])));
  const ends = await host.run(() => {
    const edges = (e) => (({ left, right }) => [left, right].map(Math.round))(e.getBoundingClientRect());
    const [left, right] = edges(window.answer());
    const [rtl, ltr] = [...window.answer().querySelectorAll('.table')].map(edges);
    return [rtl[1] === right, rtl[0] > left, ltr[0] === left, ltr[1] < right];
  });
  assert.deepEqual(ends, [true, true, true, true], 'a table stands where its lines begin');
});

test('an item and a cell of another direction than the list and the table are read in their own', async () => {
  const host = await ready();
  await say(host, '1. واحد\n2. Hello!\n\n| واحد | Hello! |\n|---|---|\n| واحد | Hello! |\n');
  await end(host);
  const last = await host.run(() => [...window.answer().querySelectorAll('li:last-child > p, td:last-child')].map((e) => {
    const text = [...e.childNodes].find(({ data }) => data?.includes('Hello'));
    const at = (from) => {
      const range = document.createRange();
      range.setStart(text, from);
      range.setEnd(text, from + 1);
      return range.getBoundingClientRect().left;
    };
    return at(5) > at(0);
  }));
  assert.deepEqual(last, [true, true], 'the exclamation mark stands behind the word');
});

test('forced colours: code does not look like a selection', async () => {
  const host = await ready({ context: { forcedColors: 'active' } });
  await say(host, '```js\nconst a = "text"; // comment\n```\n');
  await end(host);
  await until(() => host.run(() => CSS.highlights.get('mindset-comment')?.size > 0), 'colours');
  const box = host.panel.host.locator('[part~="code"]');
  const drawn = await box.screenshot();
  await host.run(() => CSS.highlights.clear());
  assert.ok(drawn.equals(await box.screenshot()), 'it is drawn as without colours');
});

test('formulas are set as MathML, and one that is none stays as it is', async () => {
  const host = await s.ready({ head: `<script>${FIND}</script>` });
  s.runtime.onRun = (run) => run.start().say('So $a^2 + b^2$, bold $\\pmb{x}$ and $\\frac{$.\n\n$$\\href{javascript:a}{x} \\sum_{i=0}^n i$$').finish();
  await host.send('go');
  await until(() => host.run(() => window.answer().querySelectorAll('math').length >= 2), 'formulas');
  assert.equal(await host.run(() => window.answer().querySelectorAll('msup').length), 2);
  assert.equal(await host.run(() => window.answer().querySelectorAll('[href], [style*=url]').length), 0);
});

test('without its chunk an answer is plain paragraphs, and the next one tries again', async () => {
  let isMissing = true;
  const host = await s.ready({
    head: `<script>${FIND}</script>`,
    before: (page) => page.route(/mindset-answer-/, (route) => (isMissing ? route.abort() : route.continue())),
  });
  s.runtime.onRun = (run) => run.start().say('*a*\n\nb').finish();
  await host.send('go');
  assert.equal(await tree(host), '<p>*a*</p><p>b</p>');
  isMissing = false;
  const there = host.page.waitForResponse(/mindset-answer-/);
  await host.send('again');
  await (await there).finished();
  await host.run(() => new Promise((done) => setTimeout(done, 50)));
  await host.send('and again');
  assert.equal(await tree(host), '<p><em>a</em></p><p>b</p>');
});

test('in a hidden tab, where no frames come, an answer is whole when that is told', async () => {
  const host = await s.ready({
    head: `<script>${FIND}
      Object.defineProperty(document, 'hidden', { get: () => true });
      window.requestAnimationFrame = () => 0;
      addEventListener('mindset:complete', () => { window.told = window.answer().textContent; });</script>`,
  });
  s.runtime.hold();
  const turn = host.send('go', { silent: true });
  const run = (await s.runtime.nextRun()).start().say('one *two*');
  await until(() => host.run(() => window.answer()?.textContent.startsWith('one')), 'text without frames');
  run.say(' three').finish();
  await turn;
  assert.equal(await host.run(() => window.told), 'one two three');
});
