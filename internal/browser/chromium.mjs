// Headless Chromium, and what must hold of every page in it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const rules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

// open starts Chromium with the one font that every machine has the same of. It fails if there is no Chromium.
export async function open() {
  const folder = mkdtempSync(path.join(tmpdir(), 'candor-chromium-'));
  const fonts = path.join(folder, 'fonts.conf');
  writeFileSync(fonts, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>/usr/share/fonts/truetype/liberation</dir><cachedir>${folder}/fonts</cachedir>
<match><edit name="family" mode="append_last" binding="weak"><string>Liberation Sans</string></edit></match></fontconfig>`);
  const browser = await chromium.launch({
    executablePath: process.env.CANDOR_CHROMIUM || '/usr/bin/chromium-headless-shell',
    env: { ...process.env, FONTCONFIG_FILE: fonts },
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
  return { browser, version: browser.version(), close: async () => { await browser.close(); rmSync(folder, { recursive: true, force: true }); } };
}

// Watched is a page with its faults: what the console says, what is requested, dialogs.
export class Watched {
  constructor(page, url) {
    this.page = page;
    this.url = url;
    this.faults = [];
    page.on('console', m => { if (m.type() === 'error' || m.type() === 'warning') this.fault(`console: ${m.text()}`); });
    page.on('pageerror', e => this.fault(`script: ${e.message}`));
    page.on('request', r => { if (r.url() !== url && !/^(data|blob):/.test(r.url())) this.fault(`requests ${r.url()}`); });
    page.on('dialog', d => { this.fault(`dialog: ${d.message()}`); d.dismiss(); });
  }
  fault(s) { this.faults.push(s.length > 400 ? s.slice(0, 400) + '...' : s); }

  static file(browser, file) { return Watched.url(browser, pathToFileURL(path.resolve(file)).href); }

  static async url(browser, url) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const w = new Watched(await context.newPage(), url);
    w.context = context;
    await w.page.goto(w.url);
    await w.page.evaluate(axe);
    return w;
  }

  // view shows the page at a width, on paper or on a screen, light or dark, and checks that nothing is wider.
  async view(name, { width = 1280, media = 'screen', colorScheme = 'light', axe: rules = false }) {
    await this.page.setViewportSize({ width, height: 900 });
    await this.page.emulateMedia({ media, colorScheme, reducedMotion: 'reduce' });
    const wide = await this.page.evaluate(() => {
      const most = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth <= most) return '';
      const out = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > most + 1)
        .sort((a, b) => b.getBoundingClientRect().right - a.getBoundingClientRect().right)[0];
      return `${document.documentElement.scrollWidth} > ${most}: ${out ? out.outerHTML.slice(0, 120) : ''}`;
    });
    if (wide) this.fault(`${name}: overflows sideways, ${wide}`);
    if (rules) await this.audit(name);
  }

  // audit runs axe's rules on what the page shows now.
  async audit(name) {
    const r = await this.page.evaluate(`axe.run(document, ${JSON.stringify({ runOnly: rules, resultTypes: ['violations'], iframes: false })})`);
    if (r.passes.length === 0) this.fault(`${name}: axe passed nothing`);
    for (const v of r.violations)
      this.fault(`${name}: axe ${v.id}, ${v.nodes.length} times: ${v.help}: ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary.replace(/\s+/g, ' ')}`);
  }

  details(open) { return this.page.evaluate(open => document.querySelectorAll('details').forEach(d => { d.open = open; }), open); }

  // sheets prints the page on A4 and returns how many sheets it takes.
  async sheets() {
    await this.page.emulateMedia({ media: 'print', colorScheme: 'light' });
    const pdf = await this.page.pdf({ format: 'A4', margin: { top: '12mm', bottom: '14mm', left: '12mm', right: '12mm' } });
    this.pdf = pdf;
    return pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  }

  close() { return this.context.close(); }
}
