package main

import (
	"math"
	"math/bits"
)

// hitBlocksTrials are of what only the kernel of blocks of sorted keys needs.
func hitBlocksTrials() []trial {
	const keys = 1<<31 - 1 // of scores below 2
	return []trial{
		{name: "Bits and OnesR", kind: I32, emit: func(m Machine, dst, a, b, c, n R) R {
			take := m.Bits()
			var word R
			for u := range 16 {
				word = take(m.Cmp(I32, GT, m.Load([]R{a, b, c, a}[u/4], u%4*16), m.Load(b, (u+1)%4*16)))
			}
			m.StoreR(dst, 0, 8, word)
			return m.OnesR(word)
		}, want: func(dst, a, b, c []byte, n int) int {
			var word uint64
			for i := range 64 {
				if int32(getU32([][]byte{a, b, c, a}[i/16], i%16)) > int32(getU32(b, (i+4)%16)) {
					word |= 1 << i
				}
			}
			putU64(dst, 0, word)
			return bits.OnesCount64(word)
		}},
		{name: "StoreSums", kind: I64, emit: func(m Machine, dst, a, b, c, n R) R {
			m.StoreSums(dst, 16, m.Load(a, 0), m.Load(b, 16))
			return nil
		}, want: func(dst, a, b, c []byte, n int) int {
			putU64(dst, 2, getU64(a, 0)+getU64(a, 1))
			putU64(dst, 3, getU64(b, 2)+getU64(b, 3))
			return n
		}},
		{name: "HitScores", kind: F32, dst: func(int) int { return 80 }, emit: func(m Machine, dst, a, b, c, n R) R {
			p, hit, hits := m.HitScores()(m.And(m.Load(a, 0), m.Const(I32, keys)))
			for h := range p {
				m.Store(dst, 16*h, p[h])
				m.Store(dst, 32+16*h, m.Keep(hit[h], m.Const(I64, 1<<64-1)))
			}
			m.Store(dst, 64, m.Keep(hits, m.Const(I32, 1<<32-1)))
			return nil
		}, want: func(dst, a, b, c []byte, n int) int {
			for l := range 4 {
				key := getU32(a, l) & keys
				putU64(dst, l, math.Float64bits(float64(math.Float32frombits(key>>1))))
				putU64(dst, 4+l, -uint64(key&1))
				putU32(dst, 16+l, -(key & 1))
			}
			return n
		}},
	}
}
