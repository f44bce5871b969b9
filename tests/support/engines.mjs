// The three engines behind one small interface, for what has to hold in each of them.
//
// Firefox is driven over WebDriver BiDi, WebKitGTK by its own WebDriver under a virtual
// display. A program that is missing is named with the Debian package that brings it.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import puppeteer from 'puppeteer-core';
import { Builder, Key } from 'selenium-webdriver';

import { launch } from './browser.mjs';
import { freePort } from './ports.mjs';
import { until, within } from './wait.mjs';

/** Names of keys as they are pressed here, and what WebDriver calls them. */
const KEYS = { Enter: Key.ENTER, Escape: Key.ESCAPE, ArrowUp: Key.ARROW_UP, PageUp: Key.PAGE_UP, Tab: Key.TAB };

function program(variable, names, debian) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin'];
  const found = process.env[variable] ?? names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (!found) throw new Error(`${names[0]} is missing: install it (Debian: ${debian}), or set ${variable} to its program`);
  return found;
}

/** A function of the page and its argument as one expression. */
const call = (fn, arg) => `(${fn})(${JSON.stringify(arg ?? null)})`;

async function chromium() {
  const browser = await launch();
  return {
    async open(url) {
      const page = await (await browser.newContext()).newPage();
      await page.goto(url);
      return {
        run: (fn, arg) => page.evaluate(call(fn, arg)),
        type: (text) => page.keyboard.type(text),
        press: (key) => page.keyboard.press(key),
        close: () => page.context().close(),
      };
    },
    close: () => browser.close(),
  };
}

async function firefox() {
  const executablePath = program('FIREFOX', ['firefox-esr', 'firefox'], 'firefox-esr');
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath, headless: true });
  return {
    async open(url) {
      const page = await browser.newPage();
      await page.goto(url);
      return {
        run: (fn, arg) => page.evaluate(call(fn, arg)),
        type: (text) => page.keyboard.type(text),
        press: (key) => page.keyboard.press(key),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}

/** How long a window of WebKitGTK may take to open, in milliseconds; its driver forgets one now and then. */
const OPENING = 15_000;

/** A driver of WebKitGTK and the screen it draws on. */
async function webkitDriver() {
  const driver = program('WEBKIT_DRIVER', ['WebKitWebDriver'], 'webkit2gtk-driver');
  const xvfb = program('XVFB', ['Xvfb'], 'xvfb');
  const [port, display] = [await freePort(), 100 + Math.floor(Math.random() * 800)];
  const screen = spawn(xvfb, [`:${display}`, '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], { stdio: 'ignore' });
  const server = spawn(driver, [`--port=${port}`], { stdio: 'ignore', env: { ...process.env, DISPLAY: `:${display}`, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' } });
  const end = (signal) => [server, screen].forEach((child) => child.kill(signal));
  try {
    await until(() => fetch(`http://127.0.0.1:${port}/status`).then((answer) => answer.ok, () => false), 'WebKitWebDriver to answer');
  } catch (error) {
    end();
    throw error;
  }
  const binary = ['x86_64', 'aarch64'].map((cpu) => `/usr/lib/${cpu}-linux-gnu/webkit2gtk-4.1/MiniBrowser`).find(existsSync);
  const window = async () => {
    const opened = new Builder()
      .usingServer(`http://127.0.0.1:${port}`)
      .withCapabilities({ browserName: 'MiniBrowser', 'webkitgtk:browserOptions': { binary, args: ['--automation'] } })
      .build();
    await within(opened, 'a window of WebKitGTK', OPENING);
    return opened;
  };
  return { window, end };
}

async function webkit() {
  let driver = await webkitDriver();
  const opened = () => driver.window().catch(async () => {
    driver.end('SIGKILL');
    driver = await webkitDriver();
    return driver.window();
  });
  return {
    async open(url) {
      const window = await opened();
      await window.manage().setTimeouts({ script: 20_000, pageLoad: 20_000 });
      await window.get(url);
      const send = (keys) => window.actions({ async: true }).sendKeys(keys).perform();
      return {
        run: (fn, arg) => window.executeScript(`return ${call(fn, arg)}`),
        type: send,
        press: (key) => send(KEYS[key] ?? key),
        close: () => window.quit(),
      };
    },
    close: async () => driver.end(),
  };
}

/**
 * Engines by name; each starts a browser: `open(url)` gives a page with `run(fn, arg)` (a function
 * that runs in the page, its JSON answer), `type(text)` and `press(key)` (real keys, to what has
 * the focus) and `close()`.
 */
export const ENGINES = { Chromium: chromium, Firefox: firefox, WebKitGTK: webkit };
