// The command in a worker. Its system is here: files are Blobs, read where it reads them, or what it wrote, in memory.
// Node's names of the calls are what Go's runtime for js/wasm uses.
'use strict';
(() => {
  const failed = code => Object.assign(new Error(code), { code });
  const files = new Map(); // by path
  const open = new Map(); // by number
  let next = 3, total = 0, seen = 0, told = 0;
  let said = { 1: [], 2: [] };

  const absolute = path => '/' + path.split('/').filter(s => s !== '' && s !== '.').join('/');

  // A file to read: nothing but what is asked for is in memory.
  class Given {
    constructor(blob) { this.blob = blob; this.time = blob.lastModified ?? 0; }
    get size() { return this.blob.size; }
    read(into, at) {
      const part = this.blob.slice(at, at + into.length);
      into.set(new Uint8Array(new FileReaderSync().readAsArrayBuffer(part)));
      tell(part.size);
      return part.size;
    }
  }

  // A file that the command writes.
  class Written {
    constructor() { this.bytes = new Uint8Array(0); this.size = 0; this.time = Date.now(); }
    read(into, at) {
      const part = this.bytes.subarray(Math.min(at, this.size), Math.min(at + into.length, this.size));
      into.set(part);
      return part.length;
    }
    write(from, at) {
      const end = at + from.length;
      if (end > this.bytes.length) {
        const more = new Uint8Array(Math.max(end, 2 * this.bytes.length, 4096));
        more.set(this.bytes.subarray(0, this.size));
        this.bytes = more;
      }
      this.bytes.set(from, at);
      this.size = Math.max(this.size, end);
      return from.length;
    }
  }

  function tell(n) {
    seen += n;
    const now = performance.now();
    if (now - told > 100) {
      told = now;
      postMessage({ type: 'read', bytes: seen, of: total });
    }
  }

  const inode = f => f.inode ??= ++inode.last;
  inode.last = 0;
  function status(f) {
    const folder = f === 'folder', device = f === 'device';
    const time = f.time ?? 0;
    return {
      dev: 1, ino: folder || device ? 0 : inode(f), mode: folder ? 0o40777 : device ? 0o20666 : 0o100666, nlink: 1, uid: 0, gid: 0, rdev: 0,
      size: folder || device ? 0 : f.size, blksize: 4096, blocks: 0, atimeMs: time, mtimeMs: time, ctimeMs: time, isDirectory: () => folder,
    };
  }
  function found(path) {
    const p = absolute(path);
    if (p === '/' || p === '/tmp') return 'folder';
    const f = files.get(p);
    if (!f) throw failed('ENOENT');
    return f;
  }
  function opened(fd) {
    if (fd < 3) return { file: 'device' };
    const o = open.get(fd);
    if (!o) throw failed('EBADF');
    return o;
  }

  const constants = { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };
  const calls = {
    open(path, flags) {
      const p = absolute(path);
      let file = files.get(p) ?? (p === '/' || p === '/tmp' ? 'folder' : undefined);
      if (!file && !(flags & constants.O_CREAT)) throw failed('ENOENT');
      if (file && flags & constants.O_EXCL) throw failed('EEXIST');
      if (file !== 'folder' && flags & (constants.O_WRONLY | constants.O_RDWR)) {
        if (file instanceof Given) throw failed('EACCES'); // a chosen file is never written to
        if (!file || flags & constants.O_TRUNC) files.set(p, file = new Written());
      }
      open.set(next, { file, at: flags & constants.O_APPEND ? file.size : 0 });
      return next++;
    },
    close(fd) { open.delete(fd); },
    read(fd, buffer, offset, length, position) {
      if (fd === 0) return 0;
      const o = opened(fd);
      if (o.file === 'folder') throw failed('EISDIR');
      const at = position ?? o.at;
      const n = o.file.read(buffer.subarray(offset, offset + length), at);
      if (position === null) o.at += n;
      return n;
    },
    write(fd, buffer, offset, length, position) {
      const bytes = buffer.subarray(offset, offset + length);
      if (said[fd]) {
        said[fd].push(bytes.slice());
        return length;
      }
      const o = opened(fd);
      if (!(o.file instanceof Written)) throw failed('EBADF');
      const n = o.file.write(bytes, position ?? o.at);
      if (position === null) o.at += n;
      return n;
    },
    stat: path => status(found(path)),
    lstat: path => status(found(path)),
    fstat: fd => status(opened(fd).file),
    readdir: path => [...files.keys()].filter(p => p.lastIndexOf('/') === Math.max(0, absolute(path).length - 1) && p.startsWith(absolute(path))).map(p => p.slice(p.lastIndexOf('/') + 1)),
    unlink(path) { found(path); files.delete(absolute(path)); },
    rename(from, to) { files.set(absolute(to), found(from)); files.delete(absolute(from)); },
    ftruncate(fd, length) {
      const f = opened(fd).file;
      if (length > f.size) f.write(new Uint8Array(length - f.size), f.size);
      f.size = length;
    },
    chmod() {}, fchmod() {}, fsync() {}, utimes() {},
  };
  globalThis.fs = { constants, writeSync: (fd, b) => calls.write(fd, b, 0, b.length, null) };
  for (const name of ['open', 'close', 'read', 'write', 'stat', 'lstat', 'fstat', 'readdir', 'unlink', 'rename', 'ftruncate', 'chmod', 'fchmod', 'fsync', 'utimes',
    'chown', 'fchown', 'lchown', 'link', 'mkdir', 'readlink', 'rmdir', 'symlink', 'truncate'])
    globalThis.fs[name] = (...a) => {
      const back = a.pop();
      let value;
      try {
        if (!calls[name]) throw failed('ENOSYS');
        value = calls[name](...a);
      } catch (e) {
        // A chosen file that was changed or removed since cannot be read.
        back(e.code && typeof e.code === 'string' ? e : failed('EIO'));
        return;
      }
      back(null, value);
    };
  globalThis.process = { getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [], pid: 1, ppid: 0, umask: () => 0, cwd: () => '/', chdir() { throw failed('ENOSYS'); } };
  globalThis.path = { resolve: (...l) => absolute(l.join('/')) };

  let program;
  // run runs a command line on files and returns what it printed and wrote.
  async function run(args, given) {
    files.clear();
    open.clear();
    said = { 1: [], 2: [] };
    seen = told = total = 0;
    for (const { name, blob } of given) {
      files.set(absolute(name), new Given(blob));
      total += blob.size;
    }
    const go = new Go();
    go.argv = ['candor', ...args];
    go.env = { TMPDIR: '/tmp' };
    let code = 0;
    go.exit = c => { code = c; };
    const instance = await WebAssembly.instantiate(program, go.importObject);
    const timers = go._scheduledTimeouts;
    await go.run(instance);
    for (const t of timers.values()) clearTimeout(t); // they would wake a program that has ended
    const text = async l => new Blob(l).text();
    const written = [...files].filter(([, f]) => f instanceof Written).map(([p, f]) => ({ name: p.slice(1), blob: new Blob([f.bytes.subarray(0, f.size)]) }));
    return { code, out: await text(said[1]), err: await text(said[2]), written, memory: instance.exports.mem.buffer.byteLength };
  }

  let last = Promise.resolve();
  onmessage = ({ data }) => { last = last.then(() => answer(data)); }; // one after the other
  async function answer(data) {
    try {
      if (data.type === 'program') {
        program = data.compiled ?? await WebAssembly.compile(unpack(new Uint8Array(await data.packed.arrayBuffer())));
        postMessage({ type: 'ready', compiled: program, version: (await run(['version'], [])).out.trim() });
      } else postMessage({ type: 'done', id: data.id, result: await run(data.args, data.files) });
    } catch (e) {
      postMessage({ type: 'failed', id: data.id, why: String(e?.message ?? e) });
    }
  }
})();
