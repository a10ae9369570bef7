// LZMA, as Igor Pavlov's specification of the format has it: a third smaller than what a browser unpacks by itself.
'use strict';
// unpack returns what was packed into a file of the form .lzma, whose header has the size.
function unpack(packed) {
  const size = new DataView(packed.buffer, packed.byteOffset).getUint32(5, true);
  const lc = packed[0] % 9, lp = Math.floor(packed[0] / 9) % 5, pb = Math.floor(packed[0] / 45);
  const out = new Uint8Array(size);
  const chances = n => new Uint16Array(n).fill(1024); // of a bit being 0, in 2048ths
  const literals = chances(0x300 << (lc + lp));
  const isMatch = chances(192), isRep = chances(12), isRep0 = chances(12), isRep1 = chances(12), isRep2 = chances(12), isLong = chances(192);
  const slots = chances(4 * 64), special = chances(115), align = chances(16);
  const lengths = () => ({ which: chances(2), low: chances(128), middle: chances(128), high: chances(256) });
  const matchLength = lengths(), repLength = lengths();
  let at = 14, range = 0xffffffff, code = 0; // after the header and a byte that is 0
  for (let i = 0; i < 4; i++) code = code * 256 + packed[at++];

  function bit(p, i) {
    const bound = (range >>> 11) * p[i];
    let b = 0;
    if (code < bound) {
      range = bound;
      p[i] += (2048 - p[i]) >> 5;
    } else {
      b = 1;
      range -= bound;
      code -= bound;
      p[i] -= p[i] >> 5;
    }
    if (range < 0x1000000) {
      range *= 256;
      code = code * 256 + packed[at++];
    }
    return b;
  }
  function plain(n) {
    let v = 0;
    for (; n > 0; n--) {
      range = Math.floor(range / 2);
      v *= 2;
      if (code >= range) {
        code -= range;
        v++;
      }
      if (range < 0x1000000) {
        range *= 256;
        code = code * 256 + packed[at++];
      }
    }
    return v;
  }
  function tree(p, from, bits) {
    let m = 1;
    for (let i = 0; i < bits; i++) m = m * 2 + bit(p, from + m);
    return m - (1 << bits);
  }
  function backwards(p, from, bits) {
    let m = 1, v = 0;
    for (let i = 0; i < bits; i++) {
      const b = bit(p, from + m);
      m = m * 2 + b;
      v += b << i;
    }
    return v;
  }
  function length(l, place) {
    if (!bit(l.which, 0)) return 2 + tree(l.low, place * 8, 3);
    if (!bit(l.which, 1)) return 10 + tree(l.middle, place * 8, 3);
    return 18 + tree(l.high, 0, 8);
  }

  let state = 0, rep0 = 0, rep1 = 0, rep2 = 0, rep3 = 0;
  for (let n = 0; n < size;) {
    const place = n & ((1 << pb) - 1);
    if (!bit(isMatch, state * 16 + place)) {
      const before = n ? out[n - 1] : 0;
      const from = 0x300 * (((n & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
      let s = 1;
      if (state >= 7) {
        let like = out[n - rep0 - 1];
        do {
          const want = (like >> 7) & 1;
          like <<= 1;
          const b = bit(literals, from + ((1 + want) << 8) + s);
          s = s * 2 + b;
          if (b !== want) break;
        } while (s < 256);
      }
      while (s < 256) s = s * 2 + bit(literals, from + s);
      out[n++] = s;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let long;
    if (bit(isRep, state)) {
      if (!bit(isRep0, state)) {
        if (!bit(isLong, state * 16 + place)) {
          state = state < 7 ? 9 : 11;
          out[n] = out[n - rep0 - 1];
          n++;
          continue;
        }
      } else {
        let d = rep1;
        if (bit(isRep1, state)) {
          d = rep2;
          if (bit(isRep2, state)) {
            d = rep3;
            rep3 = rep2;
          }
          rep2 = rep1;
        }
        rep1 = rep0;
        rep0 = d;
      }
      long = length(repLength, place);
      state = state < 7 ? 8 : 11;
    } else {
      rep3 = rep2;
      rep2 = rep1;
      rep1 = rep0;
      long = length(matchLength, place);
      state = state < 7 ? 7 : 10;
      const slot = tree(slots, Math.min(long - 2, 3) * 64, 6);
      if (slot < 4) rep0 = slot;
      else {
        const bits = (slot >> 1) - 1;
        rep0 = (2 | (slot & 1)) << bits;
        rep0 += slot < 14 ? backwards(special, rep0 - slot, bits) : plain(bits - 4) * 16 + backwards(align, 0, 4);
      }
    }
    if (rep0 >= n || n + long > size) throw new Error('the packed program is damaged');
    for (let k = n - rep0 - 1; long > 0; long--) out[n++] = out[k++];
  }
  return out;
}
