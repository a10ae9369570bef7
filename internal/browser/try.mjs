// Checks the page that runs candor in a browser: node try.mjs PAGE FOLDER
//
// FOLDER/trials.json has what ./cases -try made: files to choose, the fields to fill in, the command that follows, and what the command
// printed when it ran on this machine. The page has to print the same, to the byte.
import { createReadStream, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import { open, Watched } from './chromium.mjs';

const [page, folder] = process.argv.slice(2);
const shots = process.env.CANDOR_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });
const trials = JSON.parse(readFileSync(path.join(folder, 'trials.json')));
const mostPage = 8e6, mostMemory = 100e6, patience = 300_000;

const chromium = await open();
const faults = [];
const want = (ok, what) => { if (!ok) faults.push(what); };

// view checks what the page shows now, in every width.
async function view(w, name) {
  for (const [look, v] of [['wide', { axe: true }], ['phone', { width: 390, axe: true }], ['320', { width: 320 }], ['dark', { colorScheme: 'dark', axe: true }]]) {
    await w.view(`${name}, ${look}`, v);
    if (shots) await w.page.screenshot({ path: path.join(shots, `try-${name}-${look}.png`), fullPage: true });
  }
  await w.view(name, {});
}

async function choose(w, t) {
  await w.page.setInputFiles('#files', t.files.map(f => path.join(folder, f)));
  await w.page.waitForFunction(names => document.body.dataset.files === names || !document.getElementById('error').hidden, t.files.join('/'), { timeout: patience });
  if (await w.page.isHidden('#form')) {
    want(false, `${t.name}: ${await w.page.textContent('#error')}`);
    return '';
  }
  for (const [field, value] of Object.entries(t.fields ?? {})) {
    if (field !== 'prob') await w.page.selectOption(`#${field}`, value);
    else for (const box of await w.page.locator('#prob input').all()) await box.setChecked(await box.inputValue() === value);
  }
  if (t.add) await w.page.fill('#command', `${await w.page.inputValue('#command')} ${t.add}`);
  return (await w.page.inputValue('#command'));
}

async function downloaded(w, name) {
  const wait = w.page.waitForEvent('download', { timeout: patience });
  await w.page.click(`#downloads a[download="${name}"]`);
  return readFileSync(await (await wait).path(), 'utf8');
}

async function attempt(w, t) {
  const command = await choose(w, t);
  want(command === t.command, `${t.name}: the command is ${command}, not ${t.command}`);
  if (!command) return;
  await w.page.click('#run');
  await w.page.waitForSelector('#result:not([hidden]), #error:not([hidden])', { timeout: patience });
  if (t.error) {
    const said = await w.page.textContent('#error');
    want(said === t.error, `${t.name}: the error is ${said}, not ${t.error}`);
    return;
  }
  const why = await w.page.textContent('#error');
  if (why) return want(false, `${t.name}: ${why}`);
  want(await downloaded(w, 'candor.json') === readFileSync(path.join(folder, t.json), 'utf8'), `${t.name}: the document is not the one that the command prints`);
  want(await downloaded(w, 'candor.txt') === readFileSync(path.join(folder, t.text), 'utf8'), `${t.name}: the table is not the one that the command prints`);
  if (t.html) want(await downloaded(w, 'candor.html') === readFileSync(path.join(folder, t.html), 'utf8'), `${t.name}: the page is not the one that the command writes`);
  const heading = await w.page.frameLocator('#page').locator('h1').textContent({ timeout: 10_000 }).catch(e => String(e));
  want(t.html && readFileSync(path.join(folder, t.html), 'utf8').includes(`${heading}</h1>`), `${t.name}: the page that is shown begins with ${heading}`);
  const memory = +await w.page.evaluate(() => document.body.dataset.memory);
  want(memory > 0 && memory <= mostMemory, `${t.name}: ${memory} bytes of memory, of at most ${mostMemory}`);
  const bytes = t.files.reduce((n, f) => n + statSync(path.join(folder, f)).size, 0);
  console.log(`${t.name}: ${(bytes / 1e6).toFixed(1)} MB. ${await w.page.textContent('#state')}`);
}

want(statSync(page).size <= mostPage, `the page has ${statSync(page).size} bytes, of at most ${mostPage}`);
const w = await Watched.file(chromium.browser, page);
await w.page.waitForFunction(() => /^candor /.test(document.getElementById('version').textContent), null, { timeout: patience });
await view(w, 'empty');
for (const [i, t] of trials.entries()) {
  await attempt(w, t);
  if (i === 0 || t.look) await view(w, t.name);
}

// A run that is cancelled leaves a page that works.
const large = trials.find(t => t.large);
await choose(w, large);
await w.page.click('#run');
await w.page.waitForFunction(() => document.getElementById('progress').value > 0, null, { timeout: patience });
await w.page.click('#cancel');
want(await w.page.textContent('#state') === 'Cancelled.' && await w.page.isHidden('#result') && await w.page.isEnabled('#run'), 'a run is not cancelled');
await attempt(w, trials[0]);
faults.push(...w.faults);
await w.close();

// From a server.
const server = createServer((_, response) => { response.setHeader('Content-Type', 'text/html'); createReadStream(page).pipe(response); });
await new Promise(ready => server.listen(0, '127.0.0.1', ready));
const s = await Watched.url(chromium.browser, `http://127.0.0.1:${server.address().port}/`);
await attempt(s, trials[0]);
faults.push(...s.faults);
await s.close();
server.close();
await chromium.close();

for (const f of faults) console.log(`FAULT ${f}`);
console.log(`${trials.length} trials in Chromium ${chromium.version}, ${faults.length} faults`);
process.exit(faults.length || trials.length === 0 ? 1 : 0);
