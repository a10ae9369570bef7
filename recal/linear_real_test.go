package recal

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// linearArray reads the numbers of a npy file of 4 or 8 bytes a number.
func linearArray(t testing.TB, path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b[10+int(binary.LittleEndian.Uint16(b[8:])):]
}

func linearReal(t testing.TB, name string, k int) *metrics.Predictions {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	dir = filepath.Join(dir, name)
	b, y := linearArray(t, filepath.Join(dir, "probs.npy")), linearArray(t, filepath.Join(dir, "labels.npy"))
	p := &metrics.Predictions{Kind: metrics.Probs}
	p.Rows, p.Classes = len(y)/8, k
	for i := range len(b) / 4 {
		p.F32 = append(p.F32, math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	for i := range p.Rows {
		p.Labels = append(p.Labels, int32(binary.LittleEndian.Uint64(y[8*i:])))
	}
	return p
}

// linearDrawn returns rows of logits like those of a classifier that is too sure of itself, some classes being alike.
func linearDrawn(rows, k int, seed uint64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &metrics.Predictions{Kind: metrics.Logits}
	p.Rows, p.Classes = rows, k
	p.F32, p.Labels = make([]float32, rows*k), make([]int32, rows)
	z, e := make([]float64, k), make([]float64, k)
	for i := range rows {
		y := r.IntN(k)
		for j := range z {
			z[j] = r.NormFloat64()
		}
		z[y] += 3 + r.NormFloat64()
		z[(y^1)%k] += 2
		s := 0.0
		for j := range z {
			e[j] = math.Exp(z[j])
			s += e[j]
		}
		u := r.Float64() * s
		for j := range z {
			if u -= e[j]; u < 0 {
				y = j
				break
			}
		}
		p.Labels[i] = int32(y)
		for j := range z {
			p.F32[i*k+j] = float32((1.5+0.3*math.Sin(float64(j)))*z[j] + 0.2*z[(j+1)%k] + 0.5*math.Cos(float64(j)))
		}
	}
	return p
}

// linearNLL returns the mean NLL of what a map makes of rows, or of the rows as they are.
func linearNLL(m Map, p *metrics.Predictions) float64 {
	var nll float64
	var probs []float64
	if m != nil {
		probs = linearProbs(m, p)
	}
	for i, y := range p.Labels {
		at := i*p.Classes + int(y)
		if m != nil {
			nll -= math.Log(probs[at])
		} else {
			nll -= math.Log(float64(p.F32[at]))
		}
	}
	return nll / float64(p.Rows)
}

// TestLinearReal fits to a half and looks at the other.
func TestLinearReal(t *testing.T) {
	for _, c := range []struct {
		set     string
		classes int
		m       Method
		none    bool // the likelihood has no maximum
	}{
		{"netcal_c10_wrn16_4", 10, Vector{}, false},
		{"netcal_c10_wrn16_4", 10, Matrix{}, false},
		{"netcal_c100_densenet_bc100", 100, Vector{}, false},
		{"netcal_c100_densenet_bc100", 100, Matrix{}, true},
	} {
		if testing.Short() && c.classes > 10 {
			continue
		}
		p := linearReal(t, c.set, c.classes)
		rows := rand.New(rand.NewPCG(1, 2)).Perm(p.Rows)
		fit, rest := linearSlice(p, rows[:p.Rows/2]), linearSlice(p, rows[p.Rows/2:])
		m, err := c.m.Fit(InMemory(fit), nil)
		if c.none {
			if !errors.Is(err, ErrUnreachable) {
				t.Errorf("%s, %v: %v", c.set, c.m, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s, %v: %v", c.set, c.m, err)
			continue
		}
		before, after := linearNLL(nil, rest), linearNLL(m, rest)
		n, g := m.(interface{ Passes() (int, float64) }).Passes()
		t.Logf("%s, %v: NLL %.4f, then %.4f (%.4f of what it was fitted to); %d passes, gradient %.2g",
			c.set, c.m, before, after, linearNLL(m, fit), n, g)
		if !(after < before) {
			t.Errorf("%s, %v: NLL %v, then %v", c.set, c.m, before, after)
		}
	}
}
