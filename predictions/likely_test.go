package predictions

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestProbable: probabilities read as logits are an error; logits in [0,1] are not.
func TestProbable(t *testing.T) {
	labels := save(t, "l.npy", npy(1, "<i4", false, []int{6}, label(3)))
	for _, c := range []struct {
		name string
		at   func(i int) float64 // of (6, 3)
		want bool
	}{
		{"probabilities", func(i int) float64 { return []float64{0.5, 0.25, 0.25}[i%3] }, true},
		{"rounded", func(i int) float64 { return []float64{0.33, 0.33, 0.333}[i%3] }, true},
		{"logits in [0,1]", func(i int) float64 { return float64(i) / 18 }, false},
		{"one row below 0", func(i int) float64 {
			if i > 14 {
				return -1
			}
			return []float64{0.5, 0.25, 0.25}[i%3]
		}, false},
	} {
		x := save(t, "p.npy", npy(1, "<f4", false, []int{6, 3}, c.at))
		_, _, err := readAll([]string{x}, &Options{Labels: []string{labels}, Kind: metrics.Logits})
		if !c.want {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		wantError(t, err, "p.npy: these are probabilities, not logits", "drop Kind metrics.Logits")
	}
}

// TestVariancesAsStandardDeviations: variances give a note, in tables and arrays; standard deviations off by any factor give none.
func TestVariancesAsStandardDeviations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const n = 400
	for _, c := range []struct {
		name   string
		stated func(sd float64) float64
		errors float64 // times sd
		spread float64 // of the logarithm of sd
		want   bool
	}{
		{"variances", func(sd float64) float64 { return sd * sd }, 1, 1, true},
		{"small variances", func(sd float64) float64 { return sd * sd / 1e4 }, 0.01, 1, true},
		{"right", func(sd float64) float64 { return sd }, 1, 1, false},
		{"too small", func(sd float64) float64 { return sd / 10 }, 1, 1, false},
		{"too large", func(sd float64) float64 { return 4 * sd }, 1, 1, false},
		{"of one size", func(sd float64) float64 { return sd * sd / 1e4 }, 0.01, 0.01, false},
	} {
		var rows []float64
		text := "mean,sd,observed\n"
		for range n {
			sd := math.Exp(c.spread * r.NormFloat64())
			row := []float64{r.NormFloat64(), c.stated(sd), 0}
			row[2] = row[0] + c.errors*sd*r.NormFloat64()
			rows = append(rows, row...)
			text += fmt.Sprintf("%v,%v,%v\n", row[0], row[1], row[2])
		}
		for _, path := range []string{save(t, "t.csv", []byte(text)), save(t, "t.npy", npy(1, "<f8", false, []int{n, 3}, func(i int) float64 { return rows[i] }))} {
			f, err := OpenForecast([]string{path}, &ForecastOptions{Kind: metrics.Normals})
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				var chunk *metrics.Chunk
				if chunk, err = f.Next(); err == nil {
					chunk.Recycle()
				}
			}
			notes := strings.Join(f.Notes(), "\n")
			if strings.Contains(notes, path+": are the standard deviations variances?") != c.want {
				t.Errorf("%s, %s: %q", c.name, path, notes)
			}
			f.Close()
		}
	}
}
