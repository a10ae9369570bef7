package kernel

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestLevelsEvents: sums of binary scores and labels are the same at all levels, and so is whether a row has a fault.
func TestLevelsEvents(t *testing.T) {
	logCompared(t)
	x32, x64, ys := newRoom[float32](t, MaxSum), newRoom[float64](t, MaxSum), newRoom[int32](t, MaxSum)
	r, turn := check.Rand(71), 0
	run := func(in, out place, n int, fault bool) {
		t.Helper()
		narrow, wide, y := x32.lay("p", in, n, true), x64.lay("p", in, n, true), ys.lay("labels", out, n, true)
		p, labels := eventRows(n, uint64(turn))
		copy(wide.s, p)
		copy(narrow.s, narrowed(p))
		copy(y.s, labels)
		if at := r.IntN(max(1, n)); fault && n > 0 {
			odd := []float64{nan64, math.Inf(1), math.Inf(-1), -0x1p-149, -1, 1.5}
			if v := odd[turn%len(odd)]; turn%2 == 0 {
				narrow.s[at], wide.s[at] = float32(v), v
			} else {
				y.s[at] = int32(r.Uint32()) | 2
			}
		}
		bins := []int{2, 10, 15, 20, 21, 100}[turn%6]
		turn++
		edges := Edges(bins)
		for name, f := range map[string]func() string{
			"bins of float32": func() string {
				s := make([]BinSum, bins)
				return fmt.Sprint(EventBinsF32(s, narrow.s, y.s, edges), s)
			},
			"bins of float64": func() string {
				s := make([]BinSum, bins)
				return fmt.Sprint(EventBinsF64(s, wide.s, y.s, edges), s)
			},
			"sums of float32": func() string { return fmt.Sprint(EventSumsF32(narrow.s, y.s)) },
			"sums of float64": func() string { return fmt.Sprint(EventSumsF64(wide.s, y.s)) },
		} {
			if fault && strings.HasPrefix(name, "sums") {
				continue
			}
			var texts []string
			if err := sameAtLevels(func() uint64 {
				if texts = append(texts, f()); texts[0] != texts[len(texts)-1] {
					return uint64(len(texts))
				}
				return 0
			}, narrow, wide, y); err != nil {
				t.Fatalf("%s, n=%d, %d bins at %v: %v: %q", name, n, bins, in, err, texts)
			}
		}
	}
	for i, n := range lengths(16, 63, 64, 65, MaxSum-1, MaxSum) {
		for _, at := range places(i, 32) {
			run(at, place{side: at.side, off: at.off * 5 % 32}, n, false)
			run(at, at, n, true)
		}
	}
	for off := range 32 {
		run(place{off: off}, place{off: r.IntN(32)}, 100, off%2 == 0)
	}
}
