package candorbeam

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
)

// BenchmarkPipeline: the same rows as files and as elements. It includes what a pipeline costs to start.
func BenchmarkPipeline(b *testing.B) {
	const n = 200_000
	probs, labels := set(n)
	dir := b.TempDir()
	shard := Shard{Path: filepath.Join(dir, "p.npy"), Labels: filepath.Join(dir, "y.npy")}
	write(b, shard.Path, npy([]int64{n, classes}, probs))
	write(b, shard.Labels, npy([]int64{n}, labels))
	elements := rows(probs, labels)
	for _, c := range []struct {
		name  string
		build func(beam.Scope)
	}{
		{"files", func(s beam.Scope) { Shards(s, Options{}, beam.CreateList(s, []Shard{shard})) }},
		{"elements", func(s beam.Scope) { Rows(s, Options{}, beam.CreateList(s, elements)) }},
	} {
		b.Run(fmt.Sprint(c.name, "=", n), func(b *testing.B) {
			for b.Loop() {
				p, s := beam.NewPipelineWithRoot()
				c.build(s)
				if err := ptest.Run(p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
