// Checks pages that candor wrote: node pages.mjs FOLDER [NAME...]
//
// FOLDER/cases.json has the cases that ./cases made: the name of each, its page and its document, as --json prints it, and
// how many bytes and sheets of A4 the page may take. With CANDOR_SHOTS=FOLDER it leaves pictures there, to be looked at.
// A fault is printed, and makes it fail; so does a Chromium that does not start.
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { check } from './check.mjs';
import { open } from './chromium.mjs';

const [folder, ...only] = process.argv.slice(2);
const shots = process.env.CANDOR_SHOTS;
if (shots) mkdirSync(shots, { recursive: true });
const cases = JSON.parse(readFileSync(path.join(folder, 'cases.json'))).filter(c => only.length === 0 || only.includes(c.name));
const chromium = await open();
let failed = 0, done = 0;
const rest = [...cases];
// Two pages at a time: Chromium and axe have a process for each.
await Promise.all([0, 1].map(async () => {
  for (let c = rest.shift(); c; c = rest.shift()) {
    const started = performance.now();
    const r = await check(chromium.browser, folder, c, shots);
    console.log(`${c.name}: ${r.size} bytes, ${r.sheets} sheets, ${r.numbers} numbers, ${((performance.now() - started) / 1000).toFixed(1)} s`);
    for (const f of r.faults) console.log(`  FAULT ${f}`);
    failed += r.faults.length > 0;
    done++;
  }
}));
await chromium.close();
console.log(`${done} pages in Chromium ${chromium.version}, ${failed} with faults`);
process.exit(failed > 0 || done === 0 || done !== cases.length ? 1 : 0);
