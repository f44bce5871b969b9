// A page with the panel in one of its states, as large as the picture of it.

import { Host, html } from '../support/host.mjs';
import { STATES, WIDGETS, keep } from './states.mjs';
import { WORDS } from './words.mjs';

const SIZE = { width: 460, height: 680 };
export const SCREENS = {
  light: { context: { colorScheme: 'light', viewport: SIZE } },
  dark: { context: { colorScheme: 'dark', viewport: SIZE } },
  phone: { context: { colorScheme: 'light', viewport: { width: 375, height: 680 }, hasTouch: true, isMobile: true }, attributes: 'layout="bubble" open' },
  arabic: { context: { colorScheme: 'light', viewport: SIZE, locale: 'ar' }, language: 'ar' },
};

const style = (properties) => `<style>
  html { height: 100%; background: light-dark(#eef0f5, #08090c); color-scheme: light dark; }
  body { height: 100%; margin: 0; font: 15px system-ui, sans-serif; }
  main { box-sizing: border-box; height: 100%; padding: 14px; }
  main > h1 { display: none; }
  .paper { height: 100%; padding: 24px; border-radius: 14px; box-sizing: border-box; background: light-dark(#fff, #14161c); }
  .paper i { display: block; height: 12px; margin: 14px 0; border-radius: 6px; background: light-dark(#e6e8ee, #262a33); }
  .paper i:nth-of-type(3n) { width: 60%; }
  mindset-agent { --mindset-height: 100%; ${properties} }
</style>`;

/** A page in a state, when all of it stands still. */
export async function open(browser, runtime, state, screen, properties = '') {
  const { context, attributes = '', language = 'en' } = SCREENS[screen];
  const words = WORDS[language];
  runtime.reset();
  keep(runtime, state, words);
  const isBubble = state === 'bubble';
  const layout = isBubble ? 'layout="bubble"' : attributes;
  const first = runtime.conversations.size ? 'conversation-id="c-0"' : '';
  const locale = language === 'en' ? '' : `locale="${language}" dir="rtl"`;
  const lines = isBubble ? `<div class="paper"><b>${words.page[0]}</b>${'<i></i>'.repeat(9)}</div>` : '';
  const path = `/${state}-${screen}${properties && '-own'}`;
  const page = html({
    head: `<meta name="viewport" content="width=device-width">${style(properties)}`,
    elements: `${lines}<mindset-agent id="agent" agent-uid="support" heading="${words.heading}" ${layout} ${first} ${locale}></mindset-agent>`,
  }).replace('mindset-agent { height: 480px }', '').replace('<html lang="en"', `<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}"`);
  const host = await Host.open(browser, runtime.page(path, page), { context });
  await host.saw('agent-idle');
  await (STATES[state] ?? WIDGETS[state])({ host, runtime, words });
  await host.run(() => document.fonts.ready);
  await host.page.mouse.move(0, 0);
  await host.run(() => Promise.all(document.getElementById('agent').shadowRoot.getAnimations()
    .filter((animation) => Number.isFinite(animation.effect.getComputedTiming().endTime))
    .map((animation) => animation.finished.catch(() => {}))));
  return host;
}
