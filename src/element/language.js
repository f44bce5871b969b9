// The language of an element: which one is wanted, and its table of texts, loaded on need.

/** Languages with a table; English is built in, Chinese has two scripts. */
const SHIPPED = ['ar', 'de', 'es', 'fr', 'he', 'hi', 'it', 'ja', 'ko', 'nl', 'pl', 'pt', 'ru', 'tr', 'uk'];
const RIGHT_TO_LEFT = ['ar', 'he'];

/** The first of these tags that there is a table for, as `{ locale, name }`; English without one. */
export function nearest(tags) {
  for (const tag of tags) {
    // Most tags say it themselves; what the browser knows of all takes it a while to read.
    const [plain] = /^(?!zh)[a-z]{2}(?=(-[A-Z]{2})?$)/.exec(tag) ?? [];
    if (plain === 'en' || SHIPPED.includes(plain)) return { locale: tag, name: plain };
    let wanted;
    try {
      wanted = new Intl.Locale(tag).maximize();
    } catch {
      continue;
    }
    const { language, script } = wanted;
    if (language === 'zh') return { locale: tag, name: script === 'Hant' ? 'zh-Hant' : 'zh-Hans' };
    if (language === 'en' || SHIPPED.includes(language)) return { locale: tag, name: language };
  }
  return { locale: 'en', name: 'en' };
}

/** What one element speaks. */
export class Language {
  /** `{ locale, direction, table?, strings? }`, as the panel's texts take it. */
  words = { locale: 'en', direction: 'ltr' };
  /** A table is on its way: settled when the words stand. */
  pending;

  #chunk;
  #wanted = '';

  /** `chunk(name)` gives what a part of the script exports. */
  constructor(chunk) {
    this.#chunk = chunk;
  }

  /** What is wanted now. True if the words have changed at once; else `pending` says when. */
  want(tags, strings) {
    const { locale, name } = nearest(tags);
    const key = JSON.stringify([locale, strings]);
    if (key === this.#wanted) return false;
    this.#wanted = key;
    const speak = (table) => {
      const isBuiltIn = table === undefined;
      this.words = {
        locale: isBuiltIn && name !== 'en' ? 'en' : locale,
        direction: !isBuiltIn && RIGHT_TO_LEFT.includes(name) ? 'rtl' : 'ltr',
        table,
        strings,
      };
    };
    if (name === 'en') {
      this.pending = undefined;
      speak();
      return true;
    }
    const pending = (this.pending = this.#chunk(`texts-${name}`)
      .catch((error) => {
        console.warn(`mindset-agent: the texts for "${locale}" could not be loaded, English is shown (${error.message}).`);
      })
      .then((table) => {
        if (this.pending !== pending) return;
        this.pending = undefined;
        speak(table);
      }));
    return false;
  }
}
