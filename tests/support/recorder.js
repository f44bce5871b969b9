// Runs in every page before its own scripts: writes down what the page could see.
(() => {
  const NAMES = [
    'agent-registered', 'agent-initializing', 'agent-idle', 'agent-busy', 'runtime-event',
    'text-delta', 'tool-start', 'tool-end', 'complete', 'conversation', 'thread-changed', 'error', 'open', 'close', 'message-action',
  ];

  const frozen = (value) =>
    typeof value !== 'object' || value === null ||
    (Object.isFrozen(value) && Object.values(value).every(frozen));

  const plain = (value) => {
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return true;
    if (Array.isArray(value)) return value.every(plain);
    return typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype &&
      Object.values(value).every(plain);
  };

  const log = { events: [], violations: [], errors: [] };
  window.recorded = log;

  for (const name of NAMES) {
    window.addEventListener(`mindset:${name}`, (event) => {
      log.events.push({
        name,
        type: event.detail?.type,
        detail: JSON.parse(JSON.stringify(event.detail)),
        target: event.target.id,
        frozen: frozen(event.detail),
        plain: plain(event.detail),
        bubbles: event.bubbles,
        composed: event.composed,
        cancelable: event.cancelable,
      });
    }, true);
  }
  document.addEventListener('securitypolicyviolation', (event) => {
    log.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
  });
  window.addEventListener('error', (event) => log.errors.push(String(event.message)));
  window.addEventListener('unhandledrejection', (event) => log.errors.push(`unhandled: ${event.reason}`));
})();
