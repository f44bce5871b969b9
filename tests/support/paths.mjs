// Where things are: the repository, the built package, the programs.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What `cargo xtask build` made. */
export const DIST = join(ROOT, 'dist');

/** The path of a built file, or a failure that says what to do. */
export function built(name) {
  const path = join(DIST, name);
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`cargo xtask build\` first`);
  return path;
}

/** The name of the built wasm module, or of its later part; it contains a hash of its content. */
export function wasmName(part = 'agent') {
  const start = `mindset-${part}-`;
  const all = existsSync(DIST) ? readdirSync(DIST) : [];
  const names = all.filter((name) => name.startsWith(start) && name.endsWith('.wasm'));
  if (names.length !== 1) {
    throw new Error(`dist/ holds ${names.length} files ${start}*.wasm, expected 1: run \`cargo xtask build\``);
  }
  return names[0];
}

/** The runtime, as `cargo xtask build` left it. */
export function runtimeBinary() {
  const targets = process.env.CARGO_TARGET_DIR ?? join(ROOT, 'target');
  const path = join(targets, 'debug', 'mindset-runtime');
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`cargo xtask build\` first`);
  return path;
}

/** A program that npm installed. */
export function npmProgram(name) {
  const path = join(ROOT, 'node_modules', '.bin', name);
  if (!existsSync(path)) throw new Error(`${path} is missing: run \`npm ci\` first`);
  return path;
}

/** A program of the tests' Python environment. */
export function pythonProgram(name) {
  const venv = process.env.MINDSET_TEST_VENV ?? join(ROOT, 'tests', '.venv');
  const path = join(venv, 'bin', name);
  if (!existsSync(path)) {
    throw new Error(`${path} is missing: \`cargo xtask test\` makes it, from tests/requirements.txt`);
  }
  return path;
}

/** A folder for pictures and other results for people. */
export const SCREENSHOTS = join(ROOT, 'target', 'screenshots');
