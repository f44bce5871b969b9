// The npm entry of pages and workers. On a server, importing it does nothing.
import { own } from 'mindset-chunks';

import { MindsetError, compile } from './loader.js';
import { setUp } from './shell.js';

export const { init, createChat, version } = setUp({
  compile() {
    // Bundlers look for exactly this expression to take the file along.
    if (import.meta.url) return compile(new URL(__WASM_FILE__, import.meta.url).href);
    throw new MindsetError({
      code: 'wasm-load',
      message: 'the CommonJS build does not know where its .wasm file lies: load the package with import, not require.',
    });
  },
  chunk: (name) => own[name](),
  script: import.meta.url,
});

export { MindsetError };
