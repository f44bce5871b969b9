// What every browser test file needs: one browser and one scripted runtime for the
// file, and a clean state for each test.

import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';

import { launch } from './browser.mjs';
import { Host } from './host.mjs';
import { ScriptedRuntime } from './scripted-runtime.mjs';

/** Sets up the file; the result is filled when the first test runs. */
export function suite() {
  const parts = {
    /** Opens the usual page; closed after the test. */
    async ready(options) {
      return this.keep(await Host.ready(this.browser, this.runtime, options));
    },
    /** Opens a page that need not become ready; closed after the test. */
    async open(url, options) {
      return this.keep(await Host.open(this.browser, url, options));
    },
    keep(host) {
      this.hosts.push(host);
      return host;
    },
    hosts: [],
  };
  before(async () => {
    parts.runtime = await ScriptedRuntime.start();
    parts.browser = await launch();
  });
  afterEach(async () => {
    const hosts = parts.hosts.splice(0);
    const violations = (await Promise.all(hosts.map(broken))).flat();
    // A page that is gone says nothing any more.
    const early = await Promise.all(hosts.map((host) => (host.mayBeEarly ? [] : host.early().catch(() => []))));
    await Promise.all(hosts.map((host) => host.close()));
    parts.runtime.reset();
    assert.deepEqual(violations, [], "violations of the page's policy");
    assert.deepEqual(early.flat(), [], 'nothing came too early for the later part of the module');
  });
  after(async () => {
    await parts.browser?.close();
    await parts.runtime?.stop();
  });
  return parts;
}

/** What a page did against its policy, unless the test is about that or the page is gone. */
async function broken(host) {
  if (host.page.isClosed() || host.mayViolate) return [];
  return host.violations().catch(() => []);
}
