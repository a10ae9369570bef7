// The document that a page carries, held against the one that candor prints, and the numbers that a page shows against it.

// Lists of which a page may carry a part, in the order in which it shows them, and what an item of them may lack.
const parts = new Set(['/groups', '/members', '/classes/list', '/group_tests/groups']);
const left = new Set(['bins', 'curves']);
const optional = new Set(['/groups', '/members', '/curves']);

// differences returns where the document of a page says something else than the whole one.
export function differences(page, whole, at = '', inPart = false) {
  if (Object.is(page, whole)) return [];
  if (page === null || whole === null || typeof page !== typeof whole || typeof page !== 'object' || Array.isArray(page) !== Array.isArray(whole))
    return [`${at || '/'} is ${short(page)}, and ${short(whole)} in what --json prints`];
  if (Array.isArray(page)) {
    if (parts.has(at)) return page.flatMap((v, i) => whole.some(w => differences(v, w, '', true).length === 0) ? [] : [`${at}/${i} is not in what --json prints: ${short(v)}`]);
    if (page.length !== whole.length) return [`${at} has ${page.length} items, and ${whole.length} in what --json prints`];
    return page.flatMap((v, i) => differences(v, whole[i], `${at}/${i}`, inPart));
  }
  const out = [];
  for (const k of Object.keys(page)) {
    if (!(k in whole)) out.push(`${at}/${k} is not in what --json prints`);
    else out.push(...differences(page[k], whole[k], `${at}/${k}`, inPart));
  }
  for (const k of Object.keys(whole)) if (!(k in page) && !optional.has(`${at}/${k}`) && !(inPart && left.has(k))) out.push(`${at}/${k} is missing`);
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
