// The classic script, of a page or of a worker. Its own URL is known only while it runs for
// the first time; a worker has it in the place of an error alone.
import { files } from 'mindset-chunks';

import { compile } from './loader.js';
import { setUp } from './shell.js';

const script = globalThis.document
  ? document.currentScript?.src || document.baseURI
  : (/\w+:\/\/[^\s()]+?(?=:\d+:\d+)/.exec(new Error().stack)?.[0] ?? location.href);

globalThis.mindset ??= setUp({
  compile: () => compile(new URL(__WASM_FILE__, script).href),
  chunk: (name) => import(new URL(files[name], script).href),
  script,
  server: new URL(script).origin,
});
