// The npm entry of pages and workers. On a server, importing it does nothing.
import { own } from 'mindset-chunks';

import { MindsetError, compile, compileNow } from './loader.js';
import { setUp } from './shell.js';

// Bundlers look for exactly these expressions to take the files along.
const first = () => new URL(__WASM_FILE__, import.meta.url).href;
const later = () => new URL(__LATER_FILE__, import.meta.url).href;

export const { init, createAgentClient, createChat, version } = setUp({
  async first() {
    if (import.meta.url) return compile(first());
    throw new MindsetError({
      code: 'wasm-load',
      message: 'the CommonJS build does not know where its .wasm file lies: load the package with import, not require.',
    });
  },
  later: () => compile(later()),
  laterNow: () => compileNow(later()),
  chunk: (name) => own[name](),
  script: import.meta.url,
});

export { MindsetError };
