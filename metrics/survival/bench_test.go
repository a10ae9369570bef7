package survival

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func BenchmarkCensored(b *testing.B) {
	for _, n := range []int{1000, 4000} {
		l := law{m: curved, censoring: 1, end: math.Inf(1)}
		rows := l.draw(rand.New(rand.NewPCG(1, 1)), n)
		b.Run(fmt.Sprint("rows=", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := CensoredOf(rows, 1, &CensoredOptions{Threads: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkConcordance(b *testing.B) {
	l := law{m: curved, censoring: 1, end: math.Inf(1)}
	rows := l.draw(rand.New(rand.NewPCG(1, 1)), 100_000)
	for b.Loop() {
		if _, err := ConcordanceIPCW(rows, 1); err != nil {
			b.Fatal(err)
		}
	}
}
