// The npm entry of Node, which has no pages: the module is read from the package.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

import { own } from 'mindset-chunks';

import { MindsetError } from './loader.js';
import { setUp } from './shell.js';

const first = import.meta.url ? new URL(__WASM_FILE__, import.meta.url) : `${__dirname}/${__WASM_FILE__}`;
const later = import.meta.url ? new URL(__LATER_FILE__, import.meta.url) : `${__dirname}/${__LATER_FILE__}`;

function failed({ message }) {
  throw new MindsetError({
    code: 'wasm-load',
    message: `the package's .wasm files could not be read (${message}). Install the package again, and keep it out of bundles for servers.`,
    retryable: true,
  });
}

const compile = (file) => readFile(file).then((bytes) => WebAssembly.compile(bytes)).catch(failed);

export const { init, createAgentClient, createChat, version } = setUp({
  first: () => compile(first),
  later: () => compile(later),
  laterNow() {
    try {
      return new WebAssembly.Module(readFileSync(later));
    } catch (error) {
      return failed(error);
    }
  },
  chunk: (name) => own[name](),
});

export { MindsetError };
