package kernel

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
)

// newStats returns columns for n rows, the optional ones too.
func newStats(n int) *Stats {
	f := func() []float64 { return make([]float64, n) }
	return &Stats{Top: f(), Tail: f(), Label: f(), NLL: f(), Rest: f(), Entropy: f(), Norm: f(), Positive: f(),
		ArgMax: make([]int32, n), Rank: make([]int32, n), Flags: make([]uint8, n)}
}

// brier is how the columns give the Brier score of a row of classes.
func brier(c *Stats, i int, y int32) float64 {
	if c.ArgMax[i] == y {
		return c.Tail[i]*c.Tail[i] + c.Rest[i]
	}
	l, t := c.Label[i], c.Top[i]
	return (1-l)*(1-l) + (t*t + c.Rest[i] - l*l)
}

type oracleRow struct {
	Name          string
	K             int
	Label         int32
	Row           []uint32
	LSE           string
	Top, Tail     string
	LabelP        string `json:"label_p"`
	NLL           string
	Rest, Entropy string
	Brier, Sum    string
	ArgMax, Rank  int32
}

func parse(t *testing.T, s string) float64 {
	t.Helper()
	if s == "" {
		return 0
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && f == 0 {
		t.Fatal(err)
	}
	return f
}

// TestOracle holds the columns of real, awkward rows to 60-digit values, within the stated errors.
func TestOracle(t *testing.T) {
	b, err := os.ReadFile("../testdata/oracle/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Logits, Probs []oracleRow }
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Logits) < 150 || len(o.Probs) < 80 {
		t.Fatal("the oracle is not whole")
	}
	worst := map[string]float64{}
	check := func(name, what string, got, want, tol float64) {
		if got == want {
			return
		}
		d := math.Abs(got - want)
		worst[what] = math.Max(worst[what], d/tol)
		if !(d <= tol) {
			t.Errorf("%s: %s = %v, want %v (error %.2g, allowed %.2g)", name, what, got, want, d, tol)
		}
	}
	for _, logits := range []bool{true, false} {
		rows := o.Probs
		if logits {
			rows = o.Logits
		}
		for _, r := range rows {
			x32, x64 := make([]float32, r.K), make([]float64, r.K)
			for j, u := range r.Row {
				x32[j] = math.Float32frombits(u)
				x64[j] = float64(x32[j])
			}
			for _, wide := range []bool{false, true} {
				c := newStats(1)
				y := []int32{r.Label}
				eps, kind := 2e-6, "f32"
				switch {
				case logits && wide:
					LogitStatsF64(c, x64, 1, r.K, r.K, y)
				case logits:
					LogitStatsF32(c, x32, 1, r.K, r.K, y)
				case wide:
					ProbStatsF64(c, x64, 1, r.K, r.K, y)
				default:
					ProbStatsF32(c, x32, 1, r.K, r.K, y)
				}
				if wide {
					eps, kind = 1e-13, "f64"
				}
				id := fmt.Sprintf("%s logits=%v", kind, logits)
				name := r.Name + " " + id
				if c.ArgMax[0] != r.ArgMax || c.Rank[0] != r.Rank {
					t.Errorf("%s: arg max %d rank %d, want %d %d", name, c.ArgMax[0], c.Rank[0], r.ArgMax, r.Rank)
				}
				norm := parse(t, r.Sum)
				if logits {
					norm = parse(t, r.LSE)
				}
				nll := parse(t, r.NLL)
				check(name, id+" norm", c.Norm[0], norm, eps/2*math.Max(1, math.Abs(norm)))
				check(name, id+" top", c.Top[0], parse(t, r.Top), eps)
				check(name, id+" tail", c.Tail[0], parse(t, r.Tail), eps)
				check(name, id+" label", c.Label[0], parse(t, r.LabelP), eps)
				check(name, id+" rest", c.Rest[0], parse(t, r.Rest), eps)
				check(name, id+" entropy", c.Entropy[0], parse(t, r.Entropy), eps*math.Max(1, parse(t, r.Entropy)))
				check(name, id+" brier", brier(c, 0, r.Label), parse(t, r.Brier), eps)
				rel := 1e-5
				if wide {
					rel = 1e-12
				}
				if logits && nll >= 1e-12 {
					check(name, id+" nll", c.NLL[0], nll, rel*nll)
					if tail := parse(t, r.Tail); tail > 1e-12 {
						check(name, id+" tail, relative", c.Tail[0], tail, rel*tail)
					}
				} else {
					check(name, id+" nll", c.NLL[0], nll, 1e-14+4e-16*math.Abs(nll))
				}
			}
		}
	}
	for k, v := range worst {
		t.Logf("%-30s largest error %.3f of the allowed", k, v)
	}
}
