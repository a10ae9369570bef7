// What must hold of a page that candor wrote.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Watched } from './chromium.mjs';
import { differences, misread, numbers } from './document.mjs';

const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

// parts returns what a page consists of, as far as it can be seen from outside.
function parts() {
  const text = e => e ? e.textContent : null;
  const all = s => [...document.querySelectorAll(s)];
  return {
    lang: document.documentElement.lang,
    title: document.title,
    policy: document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.content,
    h1: all('h1').map(text),
    levels: all('h1,h2,h3,h4,h5,h6').map(e => +e.tagName[1]),
    scripts: all('script').map(e => e.type),
    documents: all('script[type="application/json"]').map(text),
    handlers: all('*').filter(e => [...e.attributes].some(a => /^on/i.test(a.name))).map(e => e.outerHTML.slice(0, 100)),
    loads: all('[src],link[href],object,iframe,embed,form,base').filter(e => !(e.getAttribute('src') ?? '').startsWith('data:')).map(e => e.outerHTML.slice(0, 100)),
    links: all('a[href]').map(e => e.getAttribute('href')),
    tables: all('table').filter(e => !e.caption?.textContent.trim()).map(e => e.outerHTML.slice(0, 100)),
    pictures: all('svg').filter(e => e.getAttribute('aria-hidden') !== 'true' && !(e.getAttribute('role') === 'img' && (e.querySelector(':scope > title') || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))).map(e => e.outerHTML.slice(0, 160)),
    numbers: all('data').map(e => ({ value: e.getAttribute('value'), text: e.textContent })),
  };
}

// check opens the page of a case, whose files are in a folder. With shots it leaves pictures in that folder.
export async function check(browser, folder, c, shots) {
  const file = path.join(folder, c.page);
  const size = statSync(file).size;
  const w = await Watched.file(browser, file);
  if (size > c.bytes) w.fault(`${size} bytes, of at most ${c.bytes}`);

  const p = await w.page.evaluate(parts);
  if (p.lang !== 'en') w.fault(`the language is ${p.lang}`);
  if (!p.title) w.fault('no title');
  if (p.policy !== policy) w.fault(`the policy is ${p.policy}`);
  if (p.h1.length !== 1 || !p.h1[0].trim()) w.fault(`${p.h1.length} first headings: ${p.h1}`);
  p.levels.reduce((last, l) => { if (l > last + 1) w.fault(`a heading of level ${l} under one of ${last}`); return l; }, 0);
  if (p.scripts.some(t => t !== 'application/json')) w.fault(`scripts of type ${p.scripts}`);
  for (const [what, l] of Object.entries({ handlers: p.handlers, 'loaded things': p.loads, 'tables without a caption': p.tables, 'pictures without a text': p.pictures }))
    if (l.length) w.fault(`${l.length} ${what}: ${l[0]}`);
  for (const l of p.links) if (!/^(#|https:\/\/)/.test(l)) w.fault(`a link to ${l}`);
  if (p.documents.length !== 1) w.fault(`${p.documents.length} documents`);
  else {
    const carried = JSON.parse(p.documents[0]);
    for (const d of differences(carried, JSON.parse(readFileSync(path.join(folder, c.document))))) w.fault(`the document: ${d}`);
    const known = numbers(carried);
    if (p.numbers.length === 0) w.fault('no number is shown');
    for (const n of p.numbers) for (const d of misread(n, known)) w.fault(`a number: ${d}`);
  }

  for (const details of [false, true]) {
    await w.details(details);
    const name = details ? 'open' : 'closed';
    await w.view(`wide, ${name}`, { axe: details });
    await w.view(`760, ${name}`, { width: 760 });
    await w.view(`phone, ${name}`, { width: 390, axe: details });
    await w.view(`320, ${name}`, { width: 320 });
    await w.view(`dark, ${name}`, { colorScheme: 'dark', axe: details });
  }
  if (shots) await shoot(w, shots, c.name);
  await w.details(false);
  await w.view('print', { media: 'print', width: 718, axe: true });
  const sheets = await w.sheets();
  if (!(sheets >= 1 && sheets <= c.sheets)) w.fault(`${sheets} sheets of A4, of at most ${c.sheets}`);
  if (shots) writeFileSync(path.join(shots, `${c.name}.pdf`), w.pdf);
  await w.close();
  return { size, sheets, numbers: p.numbers.length, faults: w.faults };
}

async function shoot(w, shots, name) {
  await w.details(false);
  for (const [view, width, colorScheme] of [['wide', 1280, 'light'], ['phone', 390, 'light'], ['dark', 1280, 'dark']]) {
    await w.view(view, { width, colorScheme });
    await w.page.screenshot({ path: path.join(shots, `${name}-${view}.png`), fullPage: true });
  }
}
