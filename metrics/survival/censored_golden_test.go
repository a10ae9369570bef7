package survival

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

type censoredCase struct {
	Kind   string
	Params struct {
		Folds, Bootstrap int
		Repeats          int `json:"num_repeats"`
		Attempts         int `json:"hyperparam_attempts"`
		Size             int `json:"bootstrap_size"`
		Weights          string
		Truncation       float64 `json:"weight_trunc"`
		Aggregation      string  `json:"survival_aggregation"`
		Kernel           string  `json:"kernel_fn"`
		Orthogonal       bool
		Normalize        bool
		Range            [2]float64 `json:"default_hyperparam_range"`
	}
	Probs, Times     []float64
	Event            []int
	End              float64   `json:"end_time"`
	Folds            [][]int32 `json:"folds_by_repeat"`
	Chosen, Estimate float64
	SE               float64    `json:"se_seed7"`
	Interval         [3]float64 `json:"interval_seed7"`
}

func (c *censoredCase) rows() *Rows {
	r := &Rows{Risks: c.Probs, Times: c.Times}
	for _, e := range c.Event {
		r.Events = append(r.Events, e == 1)
	}
	return r
}

func (c *censoredCase) options() *CensoredOptions {
	p := &c.Params
	o := &CensoredOptions{Folds: p.Folds, Repeats: p.Repeats, Attempts: p.Attempts, Truncation: p.Truncation, Orthogonal: p.Orthogonal, Normalize: p.Normalize,
		Range: p.Range, AsCoded: true}
	switch p.Weights {
	case "relative":
		o.Weights = RelativeWeights
	case "chi":
		o.Weights = ChiWeights
	}
	switch p.Kernel {
	case "cubic":
		o.Nearby = Cubic
	case "knn":
		o.Nearby = Nearest
	}
	if p.Aggregation == "Nelson-Aalen" {
		o.Product = ExponentOfSum
	}
	return o
}

// twister is NumPy's legacy generator, from which uncertainty_metrics draws its bootstrap.
type twister struct {
	state [624]uint32
	at    int
}

func newTwister(seed uint32) *twister {
	t := &twister{at: 624}
	t.state[0] = seed
	for i := 1; i < 624; i++ {
		t.state[i] = 1812433253*(t.state[i-1]^t.state[i-1]>>30) + uint32(i)
	}
	return t
}

func (t *twister) next() uint32 {
	if t.at == 624 {
		for i := range t.state {
			y := t.state[i]&0x80000000 | t.state[(i+1)%624]&0x7fffffff
			t.state[i] = t.state[(i+397)%624] ^ y>>1 ^ y&1*0x9908b0df
		}
		t.at = 0
	}
	y := t.state[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (t *twister) below(n uint32) uint32 {
	mask := uint32(1)
	for mask < n-1 {
		mask = mask<<1 | 1
	}
	for {
		if v := t.next() & mask; v < n {
			return v
		}
	}
}

// TestCensoredGolden compares with uncertainty_metrics as coded, its bootstrap included.
func TestCensoredGolden(t *testing.T) {
	var g struct{ Cases []censoredCase }
	check.Golden(t, "../../testdata/golden", "censored.json.gz", &g)
	if len(g.Cases) != 30 {
		t.Fatalf("%d cases", len(g.Cases))
	}
	for _, c := range g.Cases {
		o, r := c.options(), c.rows()
		deal := func(_, repeat int, _ uint64) []int32 { return c.Folds[repeat] }
		s, err := censoredOf(r, c.End, o, deal)
		if err != nil {
			t.Errorf("%s %+v: %v", c.Kind, c.Params, err)
			continue
		}
		if math.Abs(s.Squared-c.Estimate) > 1e-12 || math.Abs(s.Chosen/c.Chosen-1) > 1e-14 {
			t.Errorf("%s %+v: %v with bandwidth %v, want %v with %v", c.Kind, c.Params, s.Squared, s.Chosen, c.Estimate, c.Chosen)
		}
		// The bootstrap of each repeat.
		n := o.normal()
		rng, size := newTwister(7), c.Params.Size
		if size == 0 {
			size = 200
		}
		x := newCrossFit(r, c.End, &n)
		var errs []float64
		for repeat := range n.Repeats {
			x.use(c.Folds[repeat])
			influence := make([]float64, len(c.Times))
			l := x.local(s.Used)
			for i := range influence {
				if !l.fit(i) {
					influence[i] = math.NaN()
					continue
				}
				_, influence[i], _ = l.asCoded(i)
			}
			errs = append(errs, bootstrap(rng, influence, x.omega, size, c.Params.Normalize))
		}
		if se := median(errs); math.Abs(se-c.SE) > 1e-12 {
			t.Errorf("%s %+v: standard error %v, want %v", c.Kind, c.Params, se, c.SE)
		}
		// That of the bootstrap is random, and ours its limit.
		if math.Abs(s.SE/c.SE-1) > 4/math.Sqrt(2*float64(size)) {
			t.Errorf("%s %+v: standard error %v, bootstrap %v", c.Kind, c.Params, s.SE, c.SE)
		}
	}
}

func bootstrap(rng *twister, v, w []float64, size int, normalize bool) float64 {
	n := len(v)
	means := make([]float64, size)
	for b := range means {
		var sum, weight float64
		for range n {
			i := rng.below(uint32(n))
			sum += v[i] * w[i]
			weight += w[i]
		}
		means[b] = sum / float64(n)
		if normalize {
			means[b] = sum / weight
		}
	}
	var mean, spread float64
	for _, m := range means {
		mean += m / float64(size)
	}
	for _, m := range means {
		spread += (m - mean) * (m - mean) / float64(size)
	}
	return math.Sqrt(spread)
}
