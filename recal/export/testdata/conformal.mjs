// Runs the JavaScript of the conformal maps m0, m1, ... in a folder on their rows.
import { readFileSync, writeFileSync } from "node:fs";

const numbers = (file) => {
  const bytes = readFileSync(file);
  return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
};

const [folder, n] = process.argv.slice(2);
for (let i = 0; i < Number(n); i++) {
  const name = `${folder}/m${i}`;
  const [how, text] = readFileSync(name + ".how", "utf8").split(" ");
  const width = Number(text);
  const x = numbers(name + ".x");
  const u = numbers(name + ".u");
  const { set, interval } = await import(name + ".mjs");
  const results = [];
  for (let at = 0; at < x.length; at += width) {
    const row = x.slice(at, at + width);
    if (how === "interval") results.push(...interval(...row));
    else results.push(...set(width === 1 ? row[0] : row, u[at / width]).map(Number));
  }
  writeFileSync(name + ".mjs.y", Buffer.from(new Float64Array(results).buffer));
}
