// Shows that check finds what it looks for: one page has no fault, each of the others several that do not hide each other.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { check } from './check.mjs';
import { open } from './chromium.mjs';

const document_ = { metrics: [{ name: 'ece', value: 0.01234 }], groups: [{ a: 1 }, { a: 2 }, { a: 3 }] };
const good = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"><title>A page</title>
<style>body{font-family:sans-serif}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}</style></head>
<body><main><h1>Overconfident</h1><p>The error is <data value="0.01234">1.23%</data>.</p>
<h2>Bins</h2><table><caption>Bins</caption><tr><th scope="col">a</th></tr><tr><td>1</td></tr></table>
<svg role="img" width="20" height="20"><title>A picture</title><desc>of a square</desc><rect width="9" height="9"/></svg>
<details><summary>More</summary><p>Words.</p></details></main>
<script type="application/json">{"metrics":[{"name":"ece","value":0.01234}],"groups":[{"a":2}]}</script></body></html>`;
const image = '<img alt="a" src="http://127.0.0.1:9/a.png">';
const pages = [
  [],
  [
    ['axe color-contrast', '<p>Words', '<p style="color:#aaa">Words'],
    ['dark, open: axe color-contrast', 'color:#eee', 'color:#333'],
    ['overflows sideways', '<svg', '<p style="width:350px">wide</p><svg'],
    ['console: ', 'Words', `${image}Words`],
    ['loaded things', 'Words', 'Words'],
    ['the policy is', "default-src 'none'", "default-src 'self'"],
    ['handlers', '<p>The error', '<p onclick="1">The error'],
    ['a link to', '</details>', '<a href="javascript:1">a</a></details>'],
    ['a heading of level', /h2>/g, 'h4>'],
    ['tables without', '<caption>Bins</caption>', ''],
    ['pictures without', '<title>A picture</title>', ''],
    ['no title', '<title>A page</title>', ''],
    ['the language', ' lang="en"', ''],
    ['shown as 1.24%', '1.23%', '1.24%'],
    ['/groups/0 is not in', '{"a":2}', '{"a":4}'],
    ['/metrics/0/name is missing', '"name":"ece",', ''],
    ['/more is not in', '"groups":', '"more":1,"groups":'],
    ['bytes, of at most', 'Words', `<span hidden>${'.'.repeat(9000)}</span>Words`],
    ['sheets of A4', '</main>', '<p style="height:8000px">Long.</p></main>'],
  ],
  [
    ['requests http://127.0.0.1:9/a.png', '<p>Words', `${image}<p>Words`],
    ['the policy is', 'img-src data:', 'img-src *'],
    ['scripts of type', '</main>', '</main><script>1</script>'],
    ['first headings', /h1>/g, 'h2>'],
  ],
  [['is not read as a number', '1.23%', 'about 1%']],
  [['which is no number', 'value="0.01234"', 'value=""']],
  [['no number is shown', /data value=|\/data/g, 'b']],
  [['0.01234, shown as 1.23%, is not in the document', '"value":0.01234', '"value":0.5']],
  [['0 documents', /<script.*script>/, '']],
];
const folder = mkdtempSync(path.join(tmpdir(), 'candor-faults-'));
const chromium = await open();
let failed = 0;
writeFileSync(path.join(folder, 'document.json'), JSON.stringify(document_));
for (const [i, faults] of pages.entries()) {
  const page = `${i}.html`;
  writeFileSync(path.join(folder, page), faults.reduce((text, [want, old, changed]) => {
    if (text.search(old) < 0) throw new Error(`nothing is changed for ${want}`);
    return text.replace(old, changed);
  }, good));
  const found = (await check(chromium.browser, folder, { name: page, page, document: 'document.json', bytes: 9000, sheets: 5 })).faults;
  const lacks = faults.filter(([want]) => !found.some(f => f.includes(want)));
  if (lacks.length || faults.length === 0 && found.length) {
    console.log(`page ${i} has ${JSON.stringify(found)}, and lacks ${JSON.stringify(lacks)}`);
    failed++;
  }
}
await chromium.close();
rmSync(folder, { recursive: true, force: true });
console.log(`${pages.flat().length} faults in Chromium ${chromium.version}, ${failed} pages on which they are not found`);
process.exit(failed ? 1 : 0);
