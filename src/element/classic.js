// The classic script, of a page or of a worker. Its own URL is known only while it runs for
// the first time; a worker has it in the place of an error alone.
import { files } from 'mindset-chunks';

import { compile, compileNow } from './loader.js';
import { setUp } from './shell.js';

const script = globalThis.document
  ? document.currentScript?.src || document.baseURI
  : (/\w+:\/\/[^\s()]+?(?=:\d+:\d+)/.exec(new Error().stack)?.[0] ?? location.href);

const at = (file) => new URL(file, script).href;

/** The first part, on its way. */
let begun;

function first() {
  const module = begun ?? compile(at(__WASM_FILE__));
  begun = undefined;
  return module;
}

// Where a page is being read an element most likely follows: not even its making is waited for.
if (!globalThis.mindset && globalThis.document?.readyState === 'loading') {
  queueMicrotask(() => (begun = compile(at(__WASM_FILE__))).catch(() => {}));
}

globalThis.mindset ??= setUp({
  first,
  later: () => compile(at(__LATER_FILE__)),
  laterNow: () => compileNow(at(__LATER_FILE__)),
  chunk: (name) => import(at(files[name])),
  script,
  server: new URL(script).origin,
});
