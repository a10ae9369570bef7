package main

import (
	"fmt"
	"slices"
	"testing"
)

// sorts tells whether comparisons sort all inputs of zeros and ones, hence any.
func sorts(n int, network [][2]int) error {
	for set := range 1 << n {
		v := set
		for _, c := range network {
			if c[0] < 0 || c[0] >= c[1] || c[1] >= n {
				return fmt.Errorf("the comparison of %d and %d", c[0], c[1])
			}
			if lo, hi := v>>c[0]&1, v>>c[1]&1; lo > hi {
				v ^= 1<<c[0] | 1<<c[1]
			}
		}
		ones := 0
		for i := range n {
			ones += set >> i & 1
		}
		if v != (1<<ones-1)<<(n-ones) {
			return fmt.Errorf("%0*b becomes %0*b", n, set, n, v)
		}
	}
	return nil
}

// Every network sorts, and none of its comparisons can be left out.
func TestNetworks(t *testing.T) {
	for n, network := range networks {
		if err := sorts(n, network); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		for i := range network {
			if sorts(n, slices.Delete(slices.Clone(network), i, i+1)) == nil {
				t.Errorf("%d: comparison %d of %d is not needed", n, i, len(network))
			}
		}
	}
	levels := []Machine{newAMD64(64), newAMD64(32), newNEON()}
	for _, m := range levels {
		for _, c := range leafRegisters(m) {
			if _, ok := networks[c]; !ok {
				t.Errorf("%s: no network of %d", m.Level(), c)
			}
		}
	}
}

// A lanesMachine does what inOrder asks on registers that are lists of 4 bytes each.
type lanesMachine struct {
	Machine
	width int
}

func (m lanesMachine) Width() int { return m.width }

// words is how many times 4 bytes a lane has.
func (t T) words() int { return t.Bytes() / 4 }

func (m lanesMachine) zip(t T, a, b V, from int) V {
	var out []int
	x, y := a.([]int), b.([]int)
	for g := 0; g < len(x); g += 4 {
		for i := g + from; i < g+from+2; i += t.words() {
			out = append(out, x[i:i+t.words()]...)
			out = append(out, y[i:i+t.words()]...)
		}
	}
	return out
}

func (m lanesMachine) ZipLow(t T, a, b V) V  { return m.zip(t, a, b, 0) }
func (m lanesMachine) ZipHigh(t T, a, b V) V { return m.zip(t, a, b, 2) }

func (m lanesMachine) Split(a, b V, dist int) (V, V) {
	var out [2][]int
	for _, v := range [][]int{a.([]int), b.([]int)} {
		for lane := range len(v) / 2 {
			side := min(1, lane&dist)
			out[side] = append(out[side], v[2*lane:2*lane+2]...)
		}
	}
	return out[0], out[1]
}

// leaves are the numbers and widths of registers that leaves are made of.
func leaves(f func(width int, t T, registers int)) {
	for _, m := range []Machine{newAMD64(64), newAMD64(32), newNEON()} {
		for _, c := range leafRegisters(m) {
			f(m.Width(), I32, c)
			f(m.Width(), I64, c)
		}
	}
}

// Element lane*R + register of R registers comes to its place in memory.
func TestInOrder(t *testing.T) {
	leaves(func(width int, typ T, registers int) {
		v := make([]V, registers)
		for r := range v {
			var words []int
			for lane := range width / typ.Bytes() {
				for w := range typ.words() {
					words = append(words, (lane*registers+r)*typ.words()+w)
				}
			}
			v[r] = words
		}
		at := 0
		for _, u := range inOrder(lanesMachine{width: width}, typ, v) {
			for _, w := range u.([]int) {
				if w != at {
					t.Fatalf("%d bytes, %d registers of %v: word %d stands at %d", width, registers, typeName(typ), w, at)
				}
				at++
			}
		}
		if at != registers*width/4 {
			t.Errorf("%d bytes, %d registers of %v: %d words", width, registers, typeName(typ), at)
		}
	})
}

// plainExchanger compares lists of bits.
func plainExchanger() exchanger {
	by := func(a, b V, larger func(lane int) bool) []int {
		var out []int
		for lane, x := range a.([]int) {
			if y := b.([]int)[lane]; larger(lane) {
				out = append(out, max(x, y))
			} else {
				out = append(out, min(x, y))
			}
		}
		return out
	}
	return exchanger{
		raise: func(v V) V { return v },
		pair: func(a, b V) (V, V) {
			return by(a, b, func(int) bool { return false }), by(a, b, func(int) bool { return true })
		},
		side: func(a, b V, bit int) V { return by(a, b, func(lane int) bool { return lane&bit != 0 }) },
		flip: func(v V, mask int) V {
			out := slices.Clone(v.([]int))
			for lane := range out {
				out[lane] = v.([]int)[lane^mask]
			}
			return out
		},
	}
}

// Two sorted runs of zeros and ones are told by their numbers of ones: all pairs of them are merged, by which a leaf sorts if
// its columns do.
func TestMerge(t *testing.T) {
	leaves(func(width int, typ T, registers int) {
		l := width / typ.Bytes()
		for lanes := 1; lanes < l; lanes *= 2 {
			run := lanes * registers
			for first := range run + 1 {
				for second := range run + 1 {
					v := make([]V, registers)
					for r := range v {
						bits := make([]int, l)
						for lane := range bits {
							ones := []int{first, second}[lane/lanes%2]
							if lane%lanes*registers+r >= run-ones {
								bits[lane] = 1
							}
						}
						v[r] = bits
					}
					plainExchanger().merge(v, lanes)
					for r, bits := range v {
						for lane, b := range bits.([]int) {
							want := 0
							if lane%(2*lanes)*registers+r >= 2*run-first-second {
								want = 1
							}
							if b != want {
								t.Fatalf("%d bytes, %d registers of %v: runs of %d with %d and %d ones do not merge",
									width, registers, typeName(typ), run, first, second)
							}
						}
					}
				}
			}
		}
	})
}

// orderTrials are trials of the operations that sorting needs.
func orderTrials() (all []trial) {
	for _, t := range []T{I32, I64} {
		size := t.Bytes()
		most, lanes := 64/size, 16/size
		ones := ^uint64(0) >> (64 - 8*size)
		less := func(a, b uint64) bool { return a < b }

		// The first two registers of a; the lanes that have a meaning are stored.
		all = append(all, trial{name: "Sifter of " + typeName(t), kind: t,
			emit: func(m Machine, dst, a, b, c, n R) R {
				sift := m.Sifter(t, m.LoadR(b, 0, 8))
				lows := m.GP(0)
				for i := range 2 {
					low, high, k := sift(m.Load(a, 16*i))
					to := m.CopyR(dst)
					m.AddR(to, 32*i)
					m.StoreKeys(t, to, m.KeyCount(t, k), 0, low)
					m.AddR(lows, k)
					m.NegR(k)
					m.AddR(k, lanes)
					m.AddR(to, 16)
					m.StoreKeys(t, to, m.KeyCount(t, k), 0, high)
				}
				return lows
			},
			want: func(dst, a, b, c []byte, n int) (lows int) {
				for i := range 2 {
					low, high := 0, 0
					for l := range lanes {
						if v := getLane(t, a[16*i:], l); less(getLane(t, b, 0), v) {
							putLane(t, dst[32*i+16:], high, v)
							high++
						} else {
							putLane(t, dst[32*i:], low, v)
							low++
						}
					}
					lows += low
				}
				return lows
			}})

		exchange := func(name string, emit func(e exchanger, a, b V) V, want func(l int, a, b []byte) uint64) {
			all = append(all, registersTrial(name+" of "+typeName(t), t, func(m Machine, a, b V) V {
				e := m.Exchanger(t)
				return e.raise(emit(e, e.raise(a), e.raise(b)))
			}, want))
		}
		smaller := func(l int, a, b []byte) uint64 { return min(getLane(t, a, l), getLane(t, b, l)) }
		larger := func(l int, a, b []byte) uint64 { return max(getLane(t, a, l), getLane(t, b, l)) }
		exchange("raise, twice,", func(e exchanger, a, b V) V { return a }, func(l int, a, b []byte) uint64 { return getLane(t, a, l) })
		exchange("pair, the smaller,", func(e exchanger, a, b V) V { lo, _ := e.pair(a, b); return lo }, smaller)
		exchange("pair, the larger,", func(e exchanger, a, b V) V { _, hi := e.pair(a, b); return hi }, larger)
		exchange("pair, in a row,", func(e exchanger, a, b V) V {
			lo, hi := e.pair(a, b)
			hi = e.flip(hi, 1)
			lo, hi = e.pair(hi, lo) // the smaller come from either
			return e.side(lo, hi, 1)
		}, func(l int, a, b []byte) uint64 {
			x, y := larger(l^1, a, b), smaller(l, a, b)
			if l&1 == 1 {
				return max(x, y)
			}
			return min(x, y)
		})
		for mask := 1; mask < lanes; mask++ {
			exchange(fmt.Sprintf("flip by %d", mask), func(e exchanger, a, b V) V { return e.flip(a, mask) },
				func(l int, a, b []byte) uint64 { return getLane(t, a, l^mask) })
			if mask&(mask-1) != 0 {
				continue
			}
			exchange(fmt.Sprintf("side with bit %d", mask), func(e exchanger, a, b V) V { return e.side(a, b, mask) },
				func(l int, a, b []byte) uint64 {
					if l&mask != 0 {
						return larger(l, a, b)
					}
					return smaller(l, a, b)
				})
		}

		load := func(n, first int, dst, a []byte) {
			for i := range most {
				v := ones
				if i < n {
					v = getLane(t, a, first+i)
				}
				putLane(t, dst, i, v)
			}
		}
		all = append(all,
			trial{name: "LoadKeys of " + typeName(t), kind: t, ns: upTo(most)[lanes:], a: func(n int) int { return n * size },
				emit: func(m Machine, dst, a, b, c, n R) R {
					count := m.KeyCount(t, n)
					for r := range registers(m) {
						m.Store(dst, r*m.Width(), m.LoadKeys(t, a, count, r))
					}
					return nil
				},
				want: func(dst, a, b, c []byte, n int) int { load(n, 0, dst, a); return n }},
			trial{name: "LoadKeys behind others of " + typeName(t), kind: t, ns: upTo(most), a: func(n int) int { return 16 + n*size },
				emit: func(m Machine, dst, a, b, c, n R) R {
					p := m.CopyR(a)
					m.AddR(p, 16)
					count := m.KeyCount(t, n)
					for r := range registers(m) {
						m.Store(dst, r*m.Width(), m.LoadKeys(t, p, count, r))
					}
					return nil
				},
				want: func(dst, a, b, c []byte, n int) int { load(n, lanes, dst, a); return n }},
			trial{name: "StoreKeys of " + typeName(t), kind: t, ns: upTo(most), dst: func(n int) int { return n * size },
				emit: func(m Machine, dst, a, b, c, n R) R {
					count := m.KeyCount(t, n)
					for r := range registers(m) {
						m.StoreKeys(t, dst, count, r, m.Load(a, r*m.Width()))
					}
					return nil
				},
				want: func(dst, a, b, c []byte, n int) int { copy(dst, a); return n }},
			trial{name: "LoadBytes to " + typeName(t), kind: I64, a: func(int) int { return 3 + lanes }, dst: func(int) int { return 16 },
				emit: func(m Machine, dst, a, b, c, n R) R { m.Store(dst, 0, m.LoadBytes(t, a, 3)); return nil },
				want: func(dst, a, b, c []byte, n int) int {
					for l := range lanes {
						putLane(t, dst, l, uint64(a[3+l]))
					}
					return n
				}})
	}
	all = append(all, trial{name: "AddScaled and NegR", ns: numbers,
		emit: func(m Machine, dst, a, b, c, n R) R {
			r, k := m.CopyR(n), m.CopyR(n)
			m.AddScaled(r, k, 4)
			m.NegR(k)
			m.AddR(k, 7)
			m.AddScaled(r, k, 8)
			m.NegR(r)
			return r
		},
		want: func(dst, a, b, c []byte, n int) int { return -(5*n + 8*(7-n)) }})
	return all
}
