// The document that a page carries, held against the one that candor prints, and the numbers that a page shows against it.

// Lists of which a page may carry a part, in the order in which it shows them, and what an item of them may lack.
const parts = new Set(['/groups', '/members', '/classes/list', '/group_tests/groups', '/risk_coverage/points', '/slices/list', '/sets', '/differences', '/flips', '/group_differences/groups']);
const left = new Set(['bins', 'curves']);
const optional = new Set(['/groups', '/members', '/curves', '/labels', '/input/class_names', '/input/label_names']);

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
    if (at === '' && k === 'label_rates') out.push(...page[k].flatMap(r => rates(r, whole)));
    else if (!(k in whole)) out.push(`${at}/${k} is not in what --json prints`);
    else out.push(...differences(page[k], whole[k], `${at}/${k}`, inPart));
  }
  for (const k of Object.keys(whole)) if (!(k in page) && !optional.has(`${at}/${k}`) && !(inPart && left.has(k))) out.push(`${at}/${k} is missing`);
  return out;
}

// rates returns where what a page carries of a label says something else than the label's document.
function rates(r, whole) {
  const names = whole.input.label_names;
  const label = (whole.labels ?? []).find(l => String(names ? names[l.label] : l.label) === r.label);
  if (!label) return [`/label_rates has a label ${short(r.label)}, which is not in what --json prints`];
  const said = { base_rate: r.base_rate, bias: r.bias, ...r.metrics };
  return Object.keys(said).flatMap(k => k in label.metrics && !Object.is(said[k], label.metrics[k].value) ? [`/label_rates: ${k} of ${short(r.label)} is ${said[k]}, and ${label.metrics[k].value} in what --json prints`] : []);
}

const short = v => { const s = JSON.stringify(v) ?? 'nothing'; return s.length > 80 ? `${s.slice(0, 80)}...` : s; };

// numbers collects the numbers of a document.
export function numbers(v, into = new Set()) {
  if (typeof v === 'number') into.add(v);
  else if (v && typeof v === 'object') for (const x of Object.values(v)) numbers(x, into);
  return into;
}

// misread returns why a number that is shown is not one of the document's, rounded to the digits that are shown, as it is or in percent or points.
export function misread({ value, text }, known) {
  const v = Number(value);
  if (value === null || value.trim() === '' || !Number.isFinite(v)) return [`${JSON.stringify(text)} has the value ${value}, which is no number`];
  if (!known.has(v)) return [`${value}, shown as ${text}, is not in the document`];
  const said = text.trim().replaceAll('−', '-').replace(/^\+/, '').replaceAll(',', '').replace(/%$/, '');
  if (said.startsWith('< ')) return v < Number(said.slice(2)) ? [] : [`${value} is shown as ${text}`];
  if (!/^-?\d*\.?\d+(e[-+]?\d+)?$/.test(said)) return [`${JSON.stringify(text)} is not read as a number`];
  const [digits, exponent = '0'] = said.split('e');
  const last = 10 ** (+exponent - (digits.split('.')[1] ?? '').length);
  return [1, 100].some(f => Math.abs(+said - v * f) <= last * (0.5 + 1e-6)) ? [] : [`${value} is shown as ${text}`];
}
