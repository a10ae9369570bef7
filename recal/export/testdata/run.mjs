// Runs the JavaScript of the maps m0, m1, ... in a folder on their rows.
import { readFileSync, writeFileSync } from "node:fs";

const [folder, n] = process.argv.slice(2);
for (let i = 0; i < Number(n); i++) {
  const name = `${folder}/m${i}`;
  const [how, width] = readFileSync(name + ".how", "utf8").split(" ");
  const bytes = readFileSync(name + ".x");
  const x = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const { recalibrate } = await import(name + ".mjs");
  const results = [];
  for (let at = 0; at < x.length; at += Number(width)) {
    const row = Array.from(x.slice(at, at + Number(width)));
    const y = { number: () => recalibrate(row[0]), sd: () => recalibrate(row[1]), normal: () => recalibrate(row[0], row[1]) }[how]?.() ?? recalibrate(row);
    results.push(...[y].flat());
  }
  writeFileSync(name + ".mjs.y", Buffer.from(new Float64Array(results).buffer));
}
