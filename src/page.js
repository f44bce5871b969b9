// What the page hands over once, checked: the configurations of `init` and `createChat`, and
// tokens.

import { member, shape, thrown } from './convert.js';

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
    const parsed = new URL(url, globalThis.document?.baseURI ?? globalThis.location?.href);
    if (!/^https?:$/.test(parsed.protocol)) return undefined;
    parsed.hash = '';
    return isRunUrl ? parsed.href : parsed.href.replace(/\/+$/, '');
  } catch {
    return undefined;
  }
}

/** Whether the browser knows it as a language tag. */
function isTag(value) {
  try {
    return typeof value === 'string' && Boolean(new Intl.Locale(value));
  } catch {
    return false;
  }
}

/** Texts by their keys; one that goes by a number is an object of forms with `other`. */
function areWords(value) {
  const isWord = (word) => typeof word === 'string' || typeof word?.other === 'string';
  return typeof value === 'object' && Object.values(value).every(isWord);
}

/**
 * Checks what `init` was given, or `createChat` or `createAgentClient`, which `name` says; throws the sentence that
 * says what is wrong.
 */
export function readInit(config, defaultServer, name = 'init') {
  const isChat = name === 'createChat';
  const isAgent = name === 'createAgentClient';
  const example = name !== 'init' ? "{ server, appUid: 'acme', agentUid: 'support' }" : "{ appUid: 'acme' }";
  if (typeof config !== 'object' || !config) throw `${name} takes an object such as ${example}; it got ${shape(config)}`;
  const option = (key, wanted, fits) => {
    const value = config[key] ?? undefined;
    if (value !== undefined && !fits(value)) throw `${name}'s ${key} must be ${wanted}; it got ${shape(value)}`;
    return value;
  };
  const text = (name) => option(name, 'a text', (value) => typeof value === 'string');
  const callback = (name) => option(name, 'a function', (value) => typeof value === 'function');

  const protocol = text('protocol') ?? 'mindset';
  const isAgUi = protocol === 'ag-ui';
  if (!isAgUi && protocol !== 'mindset') throw `${name}'s protocol is 'mindset' or 'ag-ui'`;
  const appUid = text('appUid') ?? '';
  if (!appUid && !isAgUi) throw `${name} needs appUid, the id of your application: ${name}(${example})`;
  const given = text('server') ?? defaultServer;
  if (given === undefined) throw `${name} needs server, the URL of your runtime: a bundled script has no default`;
  const server = absolute(given, isAgUi);
  if (!server) throw `${name}'s server is no http or https URL`;

  const trusted = [server, ...(option('trustedServers', 'an array', Array.isArray) ?? [])].map((entry) => {
    const found = typeof entry === 'string' && origin(entry);
    if (!found) throw 'trustedServers holds something that is no URL';
    return found;
  });
  const fetchAuthentication = callback('fetchAuthentication');
  const getSession = callback('getSession');
  if (fetchAuthentication && getSession) {
    throw `${name} got both fetchAuthentication and getSession: keep one, getSession is the newer`;
  }
  const agentUid = (isChat || isAgent) && text('agentUid')?.trim();
  if (isChat && !agentUid && !isAgUi && !getSession) throw `${name} needs agentUid, the agent that answers: ${name}(${example})`;
  const approvals = isChat && text('approvals');
  if ((approvals || 'ask') !== 'ask') throw `${name}'s approvals can only be 'ask'`;
  const apiKey = isAgent && text('apiKey');
  const externalUserId = isAgent && text('externalUserId');
  if (isAgent) {
    if (isAgUi) throw `${name} needs a runtime: it does not work with protocol 'ag-ui'`;
    if (apiKey && (globalThis.document ?? globalThis.importScripts)) throw `${name} never takes an apiKey in a page, where everybody can read it: give fetchAuthentication or getSession`;
    if (apiKey && !/^[!-~]+$/.test(apiKey)) throw `${name}'s apiKey has characters that no header carries`;
    if (apiKey && !/^[A-Za-z0-9_-]{1,100}$/.test(externalUserId ?? '')) throw `${name} needs externalUserId, the user's id with you, of 1 to 100 letters, digits, _ and -`;
    if (!apiKey && !fetchAuthentication && !getSession) throw `${name} needs to know the user: give fetchAuthentication or getSession, or in Node apiKey and externalUserId`;
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
    initialQuestion: text('initialQuestion'),
    theme: option('theme', "'light', 'dark' or 'auto'", (value) => /^(light|dark|auto)$/.test(value)),
    locale: option('locale', "a language tag such as 'de' or 'pt-BR'", isTag),
    strings: option('strings', 'an object of texts by their keys', areWords),
    ask: getSession ?? fetchAuthentication,
    onError: callback('onError'),
    agentUid,
    apiKey,
    externalUserId,
    approvals,
    conversationId: isChat && text('conversationId')?.trim(),
  };
}

/** When a token ends, in milliseconds, if it is a JWT that says so. */
function endOf(token) {
  try {
    return JSON.parse(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/'))).exp * 1000;
  } catch {
    return 0;
  }
}

/**
 * Asks the page for a token. `tell` hears `token` once: with the token, its end in milliseconds
 * since the epoch if that is known, and the session's agent and conversation; or with what went
 * wrong, and either the shape that came or that it is worth asking again.
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
  const isText = (given) => typeof given === 'string';
  const keys = isSession ? ['token'] : ['token', 'authToken'];
  const found = !isSession && isText(value) ? value : keys.map((key) => member(value, key)).find(isText);
  const token = found?.trim() ?? '';
  // ISO 8601 or milliseconds.
  const end = member(value, 'expiresAt') ?? undefined;
  const time = typeof end === 'number' ? end : Date.parse(isText(end) ? end : '');
  const session = (key) => (isSession ? member(value, key) ?? undefined : undefined);
  const odd = found === undefined ? keys.find((key) => (member(value, key) ?? undefined) !== undefined)
    : ['agentUid', 'conversationId'].find((key) => !isText(session(key) ?? ''));
  let got;
  if (odd) {
    got = `an object whose ${odd} is ${shape(member(value, odd))}`;
  } else if (!/^[!-~]+$/.test(token) || /^[<{[]/.test(token)) {
    // What a header carries, and no document or object written out.
    got = shape(found ?? value);
    if (found) got = got.replace(/^a text$/, 'a text with characters that no header carries');
  } else if (session('expiresAt') !== undefined && Number.isNaN(time)) {
    got = 'an object whose expiresAt is neither ISO 8601 nor milliseconds';
  }
  if (got) {
    const wanted = isSession ? '{ token }' : 'a token, { token } or { authToken }';
    const received = got.replace(/^a value of type /, '');
    tell('token', { message: `${name} must give ${wanted}; it gave ${got}. Correct it in the page.`, received });
    return;
  }
  const expires = time || endOf(token);
  tell('token', {
    token,
    expires: expires > 0 ? expires : 0,
    agent: session('agentUid')?.trim(),
    conversation: session('conversationId')?.trim(),
  });
}
