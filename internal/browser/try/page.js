'use strict';
(() => {
  const $ = id => document.getElementById(id);
  const carried = id => { const e = $(id), s = e.textContent; e.remove(); return s; };
  const source = URL.createObjectURL(new Blob([carried('worker')], { type: 'text/javascript' }));
  const packed = (() => {
    const s = atob(carried('program').trim());
    const b = new Uint8Array(s.length);
    for (let i = 0; i < s.length; i++) b[i] = s.charCodeAt(i);
    return new Blob([b]);
  })();

  // The worker that runs the command, one at a time. It is ended to cancel, and another started.
  let worker, waiting, compiled, number = 0;
  function start() {
    worker = new Worker(source);
    worker.onmessage = ({ data }) => {
      if (data.type === 'ready') {
        $('version').textContent = data.version;
        compiled = data.compiled;
      }
      else if (data.type === 'read') progress(data.bytes, data.of);
      else if (data.type === 'failed' && data.id === undefined) fail(`This browser cannot run the program: ${data.why}`);
      else if (waiting && data.id === waiting.id) {
        const w = waiting;
        waiting = undefined;
        if (data.type === 'done') w.resolve(data.result);
        else w.reject(new Error(data.why));
      }
    };
    worker.onerror = e => {
      const w = waiting;
      waiting = undefined;
      if (w) w.reject(new Error(`The program ended: ${e.message}`));
      else fail(`This browser cannot run the program: ${e.message}`);
    };
    worker.postMessage({ type: 'program', packed, compiled });
  }
  const candor = args => new Promise((resolve, reject) => {
    waiting = { id: ++number, resolve, reject };
    worker.postMessage({ type: 'run', id: number, args, files });
  });
  function stop() {
    worker.terminate();
    waiting?.reject(new Error('cancelled'));
    waiting = undefined;
    start();
  }

  let files = [], tables = [], proposal = { flags: [], probs: [] }, passes = 1, pass = 0;
  function progress(bytes, of) {
    $('progress').value = Math.min(1, of > 0 ? (pass + Math.min(1, bytes / of)) / passes : 0);
  }
  function say(text) { $('state').textContent = text; }
  function fail(text) {
    busy(false);
    say('');
    $('error').textContent = text;
    $('error').hidden = false;
  }
  function clear() {
    $('error').textContent = '';
    $('error').hidden = $('result').hidden = true;
  }
  function busy(is) {
    $('run').disabled = is;
    $('cancel').disabled = !is;
    $('progress').hidden = !is;
    $('progress').value = 0;
  }

  // choose takes files, and asks the command what is in them.
  async function choose(list) {
    if (!list.length) return;
    if (waiting) stop();
    const used = new Set();
    files = [...list].map(blob => {
      let name = blob.name.startsWith('-') ? `./${blob.name}` : blob.name;
      for (let i = 2; used.has(name); i++) name = blob.name.replace(/(\.[^.]*)?$/, ` (${i})$1`);
      used.add(name);
      return { name, blob };
    });
    clear();
    $('form').hidden = true;
    delete document.body.dataset.files;
    $('chosen').textContent = files.map(f => `${f.name} (${size(f.blob.size)})`).join(', ');
    say('Looking at them');
    try {
      const found = [];
      for (const f of files) {
        const r = await candor(['inspect', f.name, '--json']);
        if (r.code) throw new Error(why(r));
        found.push(JSON.parse(r.out)[0]);
      }
      tables = found;
      say('');
      offer();
      document.body.dataset.files = files.map(f => f.blob.name).join('/');
    } catch (e) {
      if (e.message !== 'cancelled') fail(e.message);
    }
  }
  function why(r) {
    try { return JSON.parse(r.err).error.message; } catch { return r.err.trim() || `it ended with code ${r.code}`; }
  }
  const size = n => n < 1e6 ? `${Math.ceil(n / 1e3)} kB` : n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(2)} GB`;

  const options = (select, list) => select.replaceChildren(...list.map(([value, text]) => new Option(text, value)));
  const named = () => tables.find(t => t.file === $('predictions').value.replace(/:[^:]*$/, '') || t.file === $('predictions').value);
  const vector = a => a.shape.length < 2 || a.shape[1] === 1;

  // offer fills the form with what the files may be.
  function offer() {
    const scores = [], labels = [];
    for (const t of tables) {
      if (t.table) scores.push([t.file, t.file]);
      for (const a of t.arrays ?? []) {
        const what = `${t.file}${t.format === 'npz' ? `: ${a.name}` : ''} (${a.shape.join(' x ')} ${a.dtype})`;
        const path = t.format === 'npz' ? `${t.file}:${a.name}` : t.file;
        if (/^(b?float|structured|object|void)/.test(a.dtype) || !vector(a)) scores.push([path, what]);
        if (vector(a)) labels.push([path, what]);
      }
      if (t.format === 'npz') scores.push([t.file, `${t.file}: found by the names of its arrays`]);
    }
    if (!scores.length) for (const [path, what] of labels) scores.push([path, what]);
    // The widest scores first, and labels of whole numbers.
    const whole = labels.filter(([, what]) => / u?int| bool/.test(what));
    options($('predictions'), scores.sort((a, b) => /names of its arrays/.test(b[1]) - /names of its arrays/.test(a[1])));
    options($('labels'), [...whole, ...labels.filter(l => !whole.includes(l)), ['', 'in the file of predictions']]);
    $('task').value = '';
    $('form').hidden = false;
    columns(true);
  }

  // columns shows the fields of a table, as the command proposes them.
  function columns(fresh) {
    const t = named()?.table;
    if (fresh) {
      const path = $('predictions').value, file = named();
      const names = file?.format === 'npz' && path === file.file ? file.arrays.map(a => a.name) : [path];
      $('input').value = names.some(n => /logit/i.test(n)) ? 'logits' : names.some(n => /log_?prob/i.test(n)) ? 'logprobs' : '';
    }
    for (const f of ['labelField', 'probField', 'groupField']) $(f).hidden = !t;
    if (t && fresh) {
      const names = t.columns.map(c => c.name);
      const proposed = words(t.command ?? '');
      const given = flag => { const i = proposed.findIndex(w => w === flag); return i < 0 ? '' : proposed[i + 1]; };
      const list = [...new Set([given('--labels'), given('--label')])].find(v => names.includes(v));
      options($('label'), [['', 'none'], ...names.map(n => [n, n])]);
      $('label').value = list ?? '';
      options($('group'), [['', 'none'], ...names.map(n => [n, n])]);
      const probs = record(given('--prob')), prefix = given('--prob-prefix');
      proposal = { flags: prefix ? ['--prob-prefix', prefix] : probs.length ? ['--prob', given('--prob')] : [], probs: [] };
      $('prob').replaceChildren(...t.columns.filter(c => c.type !== 'text').map(c => {
        const l = document.createElement('label'), box = document.createElement('input');
        box.type = 'checkbox';
        box.value = c.name;
        box.checked = probs.includes(c.name) || prefix !== '' && c.name.startsWith(prefix);
        if (box.checked) proposal.probs.push(c.name);
        l.append(box, ` ${c.name}`);
        return l;
      }));
      $('labels').value = '';
      const task = given('--task');
      if ([...$('task').options].some(o => o.value === task)) $('task').value = task;
    }
    compose();
  }

  // A list of columns is a record of CSV, as the flags take it.
  const field = s => /[",\n\r]|^\s|\s$/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
  const record = s => [...(s ?? '').matchAll(/"((?:[^"]|"")*)"|([^,]+)/g)].map(m => m[1] !== undefined ? m[1].replaceAll('""', '"') : m[2]);
  // Words of a command line, and back, by the rules of a POSIX shell.
  const quote = s => /^[\w@%+=:,.\/-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`;
  function words(line) {
    const out = [];
    let word, mark = '';
    for (let i = 0; i < line.length; i++) {
      const c = line[i];
      if (mark) {
        if (c === mark) mark = '';
        else if (c === '\\' && mark === '"' && /["\\$`]/.test(line[i + 1] ?? '')) word += line[++i];
        else word += c;
      } else if (c === "'" || c === '"') {
        mark = c;
        word ??= '';
      } else if (c === '\\' && i + 1 < line.length) word = (word ?? '') + line[++i];
      else if (/\s/.test(c)) {
        if (word !== undefined) out.push(word);
        word = undefined;
      } else word = (word ?? '') + c;
    }
    if (mark) throw new Error(`A quotation mark ${mark} in the command is not closed.`);
    if (word !== undefined) out.push(word);
    return out;
  }

  // compose writes the command of the fields.
  function compose() {
    const args = ['candor', 'eval', $('predictions').value];
    const t = named()?.table, task = $('task').value, number = /regression|quantiles|samples/.test(task);
    if (task) args.push('--task', task);
    if (t && !number) {
      const probs = [...$('prob').querySelectorAll('input:checked')].map(e => e.value);
      if (probs.join('\n') === proposal.probs.join('\n')) args.push(...proposal.flags);
      else if (probs.length) args.push('--prob', probs.map(field).join(','));
      if (!$('labels').value && $('label').value) args.push('--labels', field($('label').value));
    }
    if ($('labels').value) args.push('--labels', field($('labels').value));
    if (t && $('group').value) args.push('--group', field($('group').value));
    if (!number && $('input').value) args.push('--input', $('input').value);
    $('inputField').hidden = number;
    $('command').value = args.map(quote).join(' ');
  }

  function link(name, blob) {
    const a = document.createElement('a');
    a.href = URL.createObjectURL(blob);
    a.download = name;
    a.textContent = `${name} (${size(blob.size)})`;
    return a;
  }

  async function evaluate() {
    clear();
    let args;
    try { args = words($('command').value); } catch (e) { return fail(e.message); }
    if (args[0] === 'candor') args.shift();
    busy(true);
    say('Reading');
    const started = performance.now();
    try {
      pass = 0;
      const paged = !args.some(a => /^--html\b/.test(a));
      passes = 2;
      const json = await candor([...args, '--json', ...(paged ? ['--html', 'candor.html'] : [])]);
      if (json.code > 1) throw new Error(why(json));
      pass = 1;
      const text = await candor(args);
      if (text.code > 1) throw new Error(text.err.trim());
      const page = json.written.find(f => f.name === 'candor.html');
      for (const a of $('downloads').querySelectorAll('a')) URL.revokeObjectURL(a.href);
      $('downloads').replaceChildren(link('candor.json', new Blob([json.out], { type: 'application/json' })), link('candor.txt', new Blob([text.out], { type: 'text/plain' })),
        ...(page ? [link(page.name, page.blob)] : []), ...text.written.map(f => link(f.name, f.blob)));
      $('page').hidden = !page;
      $('page').srcdoc = page ? await page.blob.text() : '';
      $('text').textContent = text.out;
      $('notes').textContent = text.err.trim();
      $('notes').hidden = !text.err.trim();
      $('result').hidden = false;
      busy(false);
      const most = Math.max(json.memory, text.memory);
      document.body.dataset.memory = most;
      say(`Done in ${((performance.now() - started) / 1000).toFixed(1)} s, with ${Math.ceil(most / 1e6)} MB of memory.`);
      $('resultTitle').focus();
    } catch (e) {
      if (e.message !== 'cancelled') fail(e.message);
    }
  }

  $('files').onchange = e => choose(e.target.files);
  $('drop').ondragover = e => { e.preventDefault(); $('drop').classList.add('over'); };
  $('drop').ondragleave = () => $('drop').classList.remove('over');
  $('drop').ondrop = e => {
    e.preventDefault();
    $('drop').classList.remove('over');
    choose(e.dataTransfer.files);
  };
  $('predictions').onchange = () => columns(true);
  for (const id of ['labels', 'input', 'task', 'label', 'prob', 'group']) $(id).onchange = compose;
  $('form').onsubmit = e => { e.preventDefault(); evaluate(); };
  $('cancel').onclick = () => { stop(); busy(false); say('Cancelled.'); };
  start();
})();
