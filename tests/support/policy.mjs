// The strict policy every host page of the tests is served with, and pages that bear it.

const STRICT = {
  'default-src': "'none'",
  'script-src': "'self' 'wasm-unsafe-eval'",
  'style-src': "'self'",
  'connect-src': "'self'",
  'img-src': "'self'",
  'require-trusted-types-for': "'script'",
};

/** The policy as a header's value; `more` adds sources to its directives, `null` takes one away. */
export function policy(more = {}) {
  const names = new Set([...Object.keys(STRICT), ...Object.keys(more)]);
  return [...names]
    .filter((name) => more[name] !== null)
    .map((name) => [name, STRICT[name], more[name]].filter(Boolean).join(' '))
    .join('; ');
}

/**
 * A page with its inline scripts and styles as files, which `put(kind, text)` names. They run in
 * the same order and at the same moment.
 */
export function withoutInline(html, put) {
  return html
    .replace(/<script(?![^>]*\bsrc=)([^>]*)>([\s\S]*?)<\/script>/g, (_, attributes, text) => `<script${attributes} src="${put('js', text)}"></script>`)
    .replace(/<style>([\s\S]*?)<\/style>/g, (_, text) => `<link rel="stylesheet" href="${put('css', text)}">`);
}
