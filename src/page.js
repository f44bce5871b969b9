// What the page hands over once, checked: the configuration of `init`, and tokens.

import { shape, thrown } from './convert.js';

/** A random UUID. `crypto.randomUUID` is missing on plain HTTP, this is not. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The origin of a URL; undefined if it is none. */
export function origin(url) {
  try {
    return new URL(url).origin;
  } catch {
    return undefined;
  }
}

/** An absolute HTTP URL without fragment, read relative to the page. A run URL stays as it is otherwise; the base URL of a runtime loses its trailing slash. */
export function absolute(url, isRunUrl) {
  try {
    const parsed = new URL(url, document.baseURI);
    if (!/^https?:$/.test(parsed.protocol)) return undefined;
    parsed.hash = '';
    return isRunUrl ? parsed.href : parsed.href.replace(/\/+$/, '');
  } catch {
    return undefined;
  }
}

/** Checks what `init` was given; throws the sentence that says what is wrong. */
export function readInit(config, defaultServer) {
  if (typeof config !== 'object' || !config) {
    throw `init takes an object such as { appUid: 'acme' }; it got ${shape(config)}`;
  }
  const option = (name, wanted, fits) => {
    const value = config[name] ?? undefined;
    if (value !== undefined && !fits(value)) throw `init's ${name} must be ${wanted}; it got ${shape(value)}`;
    return value;
  };
  const text = (name) => option(name, 'a text', (value) => typeof value === 'string');
  const callback = (name) => option(name, 'a function', (value) => typeof value === 'function');

  const protocol = text('protocol') ?? 'mindset';
  const isAgUi = protocol === 'ag-ui';
  if (!isAgUi && protocol !== 'mindset') throw "init's protocol is 'mindset' or 'ag-ui'";
  const appUid = text('appUid') ?? '';
  if (!appUid && !isAgUi) throw "init needs appUid, the id of your application: init({ appUid: 'acme' })";
  const given = text('server') ?? defaultServer;
  if (given === undefined) throw 'init needs server, the URL of your runtime: a bundled script has no default';
  const server = absolute(given, isAgUi);
  if (!server) throw "init's server is no http or https URL";

  const trusted = [server, ...(option('trustedServers', 'an array', Array.isArray) ?? [])].map((entry) => {
    const found = typeof entry === 'string' && origin(entry);
    if (!found) throw 'trustedServers holds something that is no URL';
    return found;
  });
  const fetchAuthentication = callback('fetchAuthentication');
  const getSession = callback('getSession');
  if (fetchAuthentication && getSession) {
    throw 'init got both fetchAuthentication and getSession: keep one, getSession is the newer';
  }
  const timing = option('timing', 'numbers of milliseconds', (value) =>
    Object.values(value).every((millis) => millis === undefined || millis === null || millis >= 0),
  );
  return {
    server,
    appUid,
    isAgUi,
    extended: option('extendedSituationalAwareness', 'true or false', (value) => typeof value === 'boolean'),
    trusted: trusted.join('\n'),
    timing,
    isSession: Boolean(getSession),
    ask: getSession ?? fetchAuthentication,
    onError: callback('onError'),
  };
}

/**
 * Asks the page for a token. `tell` hears `token` once: with the token, its end in milliseconds
 * since the epoch if that is known, and the session's agent; or with what went wrong, and
 * whether it is worth asking again.
 */
export async function askToken(isSession, ask, tell) {
  const name = isSession ? 'getSession' : 'fetchAuthentication';
  let value;
  try {
    value = await ask();
  } catch (error) {
    tell('token', { message: `${name} failed: ${thrown(error)}. It is asked again.`, retryable: true });
    return;
  }
  const text = (given) => (typeof given === 'string' ? given : undefined);
  const found = isSession ? text(value?.token) : text(value) ?? text(value?.token) ?? text(value?.authToken);
  const token = found?.trim() ?? '';
  // What a header carries, and no document or object written out.
  if (!/^[!-~]+$/.test(token) || /^[<{[]/.test(token)) {
    const wanted = isSession ? '{ token }' : 'a token, { token } or { authToken }';
    const got = shape(found ?? value).replace(/^a text$/, 'a text with characters that no header carries');
    tell('token', { message: `${name} must give ${wanted}; it gave ${got}. Correct it in the page.` });
    return;
  }
  // ISO 8601 or milliseconds.
  const end = value.expiresAt;
  const expires = typeof end === 'number' ? end : Date.parse(text(end));
  tell('token', { token, expires: expires > 0 ? expires : 0, agent: isSession ? text(value.agentUid)?.trim() : '' });
}
