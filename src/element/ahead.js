// The sign-in of somebody without a name, asked for before the module is there: the first message
// waits for it. The module makes all requests; one that was made already it takes over.

import { readStorage } from '../effects/browser.js';
import { absolute } from '../page.js';

/** Answers that nobody has taken, by what was asked. */
const open = new Map();

/**
 * Asks for what a session with these settings asks for first, if that is known: where nobody hands
 * out tokens. True if it was asked.
 */
export function signInAhead({ agentUid, appUid, server }, config) {
  const base = server === null ? config.server : absolute(server);
  if (!agentUid || !base || config.isAgUi || config.ask) return false;
  const app = appUid ?? config.appUid;
  const anonymousKey = readStorage(`mindset:anonymous:${base}|${app}|${agentUid}`);
  const url = `${base}/v1/anonymous`;
  const body = JSON.stringify({ appUid: app, agentUid, anonymousKey });
  const asked = fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body, credentials: 'omit' });
  // Whoever takes it hears of a failure.
  asked.catch(() => {});
  const key = url + body;
  open.set(key, [...(open.get(key) ?? []), asked]);
  return true;
}

/** The answer to exactly this request, if it was made; once. */
export function takeAhead(url, body) {
  return open.get(url + body)?.shift();
}
