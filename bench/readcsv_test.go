package bench

import (
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
)

// BenchmarkReadCSV reads tables of numbers of up to 17 digits from the file cache; MB/s counts their text. In form=normal every
// column is wanted, in form=skipped 3 of 12, in form=grouped one more of text, and form=quantiles has 23 levels.
func BenchmarkReadCSV(b *testing.B) {
	for _, f := range []struct {
		name    string
		options predictions.ForecastOptions
		header  string
		row     func(r *rand.Rand, line []byte) []byte
	}{
		{"normal", predictions.ForecastOptions{}, "mean,sd,observed", func(r *rand.Rand, line []byte) []byte {
			return numbers(r, line, 3)
		}},
		{"skipped", predictions.ForecastOptions{}, "a,b,c,d,mean,e,f,sd,g,observed,h,i", func(r *rand.Rand, line []byte) []byte {
			return numbers(r, line, 12)
		}},
		{"grouped", predictions.ForecastOptions{Groups: []string{"site"}}, "site,mean,sd,observed", func(r *rand.Rand, line []byte) []byte {
			line = append(strconv.AppendInt(append(line, "site "...), r.Int64N(50), 10), ',')
			return numbers(r, line, 3)
		}},
		{"quantiles", predictions.ForecastOptions{Kind: metrics.Quantiles, Prefix: "q"},
			"observed,q0.01,q0.025,q0.05,q0.1,q0.15,q0.2,q0.25,q0.3,q0.35,q0.4,q0.45,q0.5,q0.55,q0.6,q0.65,q0.7,q0.75,q0.8,q0.85,q0.9,q0.95,q0.975,q0.99",
			func(r *rand.Rand, line []byte) []byte { return numbers(r, line, 24) }},
	} {
		b.Run("form="+f.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			text := []byte(f.header + "\n")
			for len(text) < 32<<20 {
				text = append(f.row(r, text)[:], '\n')
			}
			path := filepath.Join(b.TempDir(), "table.csv")
			if err := os.WriteFile(path, text, 0o644); err != nil {
				b.Fatal(err)
			}
			if f.options.Kind != metrics.Quantiles {
				f.options.Kind = metrics.Normals
			}
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				readTable(b, path, &f.options)
			}
		})
	}
}

func readTable(b *testing.B, path string, o *predictions.ForecastOptions) {
	t, err := predictions.OpenForecast([]string{path}, o)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	for {
		c, err := t.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			b.Fatal(err)
		}
		c.Recycle()
	}
}

// numbers appends n numbers as programs print doubles.
func numbers(r *rand.Rand, line []byte, n int) []byte {
	for i := range n {
		if i > 0 {
			line = append(line, ',')
		}
		line = strconv.AppendFloat(line, math.Abs(r.NormFloat64()), 'g', -1, 64)
	}
	return line
}
