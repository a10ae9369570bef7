// The document that a page carries, held against the one that candor prints, and the numbers that a page shows against it.

// What a page may carry in part: lists of which it shows the first, and the worst.
const shortened = new Set(['groups', 'members', 'curves', 'classes']);

// differences returns where the document of a page says something else than the whole one.
export function differences(page, whole, at = '', part = false) {
  if (Object.is(page, whole)) return [];
  if (page === null || whole === null || typeof page !== typeof whole || typeof page !== 'object' || Array.isArray(page) !== Array.isArray(whole))
    return [`${at || '/'} is ${short(page)}, and ${short(whole)} in what --json prints`];
  if (Array.isArray(page)) {
    if (!part && page.length !== whole.length) return [`${at} has ${page.length} items, and ${whole.length} in what --json prints`];
    if (!part) return page.flatMap((v, i) => differences(v, whole[i], `${at}/${i}`));
    const known = new Set(whole.map(v => JSON.stringify(v)));
    return page.flatMap((v, i) => known.has(JSON.stringify(v)) ? [] : [`${at}/${i} is not in what --json prints: ${short(v)}`]);
  }
  const out = [];
  for (const k of Object.keys(page)) {
    if (!(k in whole)) out.push(`${at}/${k} is not in what --json prints`);
    else out.push(...differences(page[k], whole[k], `${at}/${k}`, shortened.has(k)));
  }
  for (const k of Object.keys(whole)) if (!(k in page) && !shortened.has(k)) out.push(`${at}/${k} is missing`);
  return out;
}

const short = v => { const s = JSON.stringify(v) ?? 'nothing'; return s.length > 80 ? `${s.slice(0, 80)}...` : s; };

// value returns what a JSON pointer points to.
export function value(document, pointer) {
  return pointer.split('/').slice(1).reduce((v, k) => v?.[k.replaceAll('~1', '/').replaceAll('~0', '~')], document);
}

const factor = { '': 1, percent: 100, points: 100 };

// misread returns why a number that is shown is not the document's, rounded to the digits that are shown.
export function misread({ at, unit, text }, document) {
  const v = value(document, at);
  if (typeof v !== 'number') return [`${at} is ${short(v)} in the document, shown as ${text}`];
  const said = text.trim().replace(/^[−-]/, '-').replace(/[+,\u2009\u202f\u00a0]/g, '').replace(/%$/, '').replace(/\u00d710/, 'e');
  const m = /^-?\d*\.?\d+(e[-+]?\d+)?$/.exec(said);
  if (!m || !(unit in factor)) return [`${at}: ${JSON.stringify(text)} in ${unit || 'no unit'} is not read as a number`];
  const [digits, exponent = '0'] = said.split('e');
  const last = 10 ** (+exponent - (digits.split('.')[1] ?? '').length);
  const want = v * factor[unit];
  if (Math.abs(+said - want) > last * (0.5 + 1e-6)) return [`${at} is ${want} in the document, shown as ${text}`];
  return [];
}
