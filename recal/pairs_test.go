package recal_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// TestVennAbersPairs compares with venn-abers 1.5.0, whose results testdata/make_venn_abers_pairs.py wrote, of scores with and without ties.
func TestVennAbersPairs(t *testing.T) {
	b, err := os.ReadFile("testdata/venn_abers_pairs.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Classes []struct {
			Scores, X, P [][]float64
			Labels       []int32
		}
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Classes) != 4 {
		t.Fatalf("%d cases", len(g.Classes))
	}
	for i, c := range g.Classes {
		x := flat(c.X)
		p := &metrics.Predictions{Scores: *flat(c.Scores), Labels: c.Labels}
		m, err := recal.VennAbers{AsCoded: true, OneVsOne: true}.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := applied(m, x)
		for k, want := range slices.Concat(c.P...) {
			if !(math.Abs(got[k]-want) <= 1e-13) {
				t.Errorf("case %d, row %d, class %d: %v, want %v", i, k/x.Classes, k%x.Classes, got[k], want)
			}
		}
		b, err := recal.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := recal.Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(applied(again, x), got) {
			t.Errorf("case %d: the map in the file is another one", i)
		}
		second, _ := recal.Marshal(again)
		if !bytes.Equal(b, second) || again.Method() != "venn_abers(as_coded,one_vs_one)" || recal.Parameters(m) < 2 {
			t.Errorf("case %d: %s, %d parameters", i, again.Method(), recal.Parameters(m))
		}
		// As coded differs for scores above all others alone.
		one, err := recal.VennAbers{OneVsOne: true}.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range applied(one, x) {
			if !(v > 0 && v < 1) || math.Abs(v-got[k]) > 0.2 {
				t.Errorf("case %d: %v, as coded %v", i, v, got[k])
			}
		}
	}
}

// TestVennAbersPairsEdges: classes without rows and rows without both classes of a pair, which the package turns into NaN, have probabilities; weights count as
// rows, and the kind of the scores does not matter.
func TestVennAbersPairsEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 29))
	p := &metrics.Predictions{}
	p.Rows, p.Classes = 90, 4
	for i := range 90 {
		row := make([]float64, 4)
		sum := 0.0
		for j := range row {
			if row[j] = r.Float64(); i%3 == 0 && j < 2 {
				row[j] = 0
			}
			sum += row[j]
		}
		for _, v := range row {
			p.F64 = append(p.F64, v/sum)
		}
		p.Labels = append(p.Labels, int32(2*r.IntN(2))) // 1 and 3 have no rows
	}
	fit := func(m recal.VennAbers, p *metrics.Predictions) recal.Map {
		m.OneVsOne = true
		f, err := m.Fit(recal.InMemory(p), nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	x := &p.Scores
	plain := applied(fit(recal.VennAbers{}, p), x)
	for i := range p.Rows {
		sum := 0.0
		for _, v := range plain[i*4:][:4] {
			if !(v > 0 && v < 1) {
				t.Fatalf("row %d: %v", i, plain[i*4:][:4])
			}
			sum += v
		}
		if math.Abs(sum-1) > 1e-14 {
			t.Errorf("row %d sums to %v", i, sum)
		}
	}
	close := func(what string, got []float64) {
		t.Helper()
		for i, v := range got {
			if !(math.Abs(v-plain[i]) < 1e-9) {
				t.Fatalf("%s: %v, want %v", what, v, plain[i])
			}
		}
	}
	fresh := &metrics.Scores{Rows: 20, Classes: 4}
	z := &metrics.Scores{Rows: 20, Classes: 4, F64: make([]float64, 80)}
	for range 80 {
		fresh.F64 = append(fresh.F64, 0.25+0.01*r.Float64())
	}
	for i, v := range fresh.F64 {
		z.F64[i] = math.Log(v)
	}
	of := fit(recal.VennAbers{}, p)
	of.Apply(z, z, metrics.Logits)
	for i, v := range applied(of, fresh) {
		if math.Abs(v-z.F64[i]) > 1e-12 {
			t.Errorf("of logits %v, of probabilities %v", z.F64[i], v)
		}
	}
	weighted := *p
	weighted.Weights = slices.Repeat([]float64{1}, 90)
	close("weights of 1", applied(fit(recal.VennAbers{}, &weighted), x))
	double, twice := *p, *p
	double.Weights = slices.Repeat([]float64{2}, 90)
	twice.Rows, twice.F64, twice.Labels = 180, slices.Concat(p.F64, p.F64), slices.Concat(p.Labels, p.Labels)
	plain = applied(fit(recal.VennAbers{Brier: true}, &twice), x)
	close("weights of 2", applied(fit(recal.VennAbers{Brier: true}, &double), x))
	bad := scoresOf(math.NaN(), 0.5, 0.25, 0.25)
	bad.Rows, bad.Classes = 1, 4
	for _, v := range applied(fit(recal.VennAbers{}, p), bad) {
		if v == v {
			t.Errorf("NaN becomes %v", v)
		}
	}
	for want, m := range map[string]recal.VennAbers{"one_vs_one and folds do not go together": {Folds: 3, OneVsOne: true}, "one_vs_one and top_label": {TopLabel: true, OneVsOne: true}} {
		if _, err := m.Fit(recal.InMemory(p), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	many := &metrics.Predictions{Labels: []int32{0}}
	many.Rows, many.Classes, many.F64 = 1, 201, append([]float64{1}, make([]float64, 200)...)
	if _, err := (recal.VennAbers{OneVsOne: true}).Fit(recal.InMemory(many), nil); err == nil || !strings.Contains(err.Error(), "at most 200 classes; there are 201") {
		t.Errorf("%v", err)
	}
	m := fit(recal.VennAbers{}, p)
	b, err := recal.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if n := need(recal.VennAbers{OneVsOne: true}, p); int64(len(b)) > n.File {
		t.Errorf("a file of %d bytes, estimated %d", len(b), n.File)
	}
}

func need(m recal.Method, p *metrics.Predictions) recal.Need {
	return recal.NeedOf(m, recal.Size{Rows: int64(p.Rows), Classes: p.Classes, DType: metrics.Float64}, nil)
}

// TestVennAbersPairsReal: fitted to every other image of a real set of ten classes, both reductions lower the NLL of the rest.
func TestVennAbersPairsReal(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	half := realHalves(t, filepath.Join(dir, "fte_club_soccer_3way"), 3)
	nll := func(m recal.Method) float64 {
		f, err := m.Fit(recal.InMemory(half[0]), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		q := applied(f, &half[1].Scores)
		for i, y := range half[1].Labels {
			sum -= math.Log(q[i*3+int(y)])
		}
		return sum / float64(half[1].Rows)
	}
	rest, pairs := nll(recal.VennAbers{}), nll(recal.VennAbers{OneVsOne: true})
	if !(math.Abs(rest-pairs) < 0.005) {
		t.Errorf("one against the rest %v, pairs %v", rest, pairs)
	}
}

// realHalves returns every other row of a real set, and the rest.
func realHalves(t *testing.T, dir string, classes int) (half [2]*metrics.Predictions) {
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b[10+int(binary.LittleEndian.Uint16(b[8:])):]
	}
	probs, labels := read("probs.npy"), read("labels.npy")
	for i := range half {
		half[i] = &metrics.Predictions{}
		half[i].Classes = classes
	}
	for i := 0; (i+1)*8 <= len(labels); i++ {
		h := half[i%2]
		for j := range classes {
			h.F64 = append(h.F64, math.Float64frombits(binary.LittleEndian.Uint64(probs[(i*classes+j)*8:])))
		}
		h.Labels = append(h.Labels, int32(binary.LittleEndian.Uint64(labels[i*8:])))
		h.Rows++
	}
	return half
}

func BenchmarkVennAbersPairs(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, k := range []int{3, 10} {
		p := &metrics.Predictions{}
		p.Rows, p.Classes = 50_000, k
		for range p.Rows {
			sum := 0.0
			for range k {
				p.F64 = append(p.F64, r.ExpFloat64())
				sum += p.F64[len(p.F64)-1]
			}
			for j := range k {
				p.F64[len(p.F64)-k+j] /= sum
			}
			p.Labels = append(p.Labels, int32(r.IntN(k)))
		}
		for _, m := range []recal.VennAbers{{}, {OneVsOne: true}} {
			b.Run(fmt.Sprintf("%d/%v", k, m), func(b *testing.B) {
				for b.Loop() {
					if _, err := m.Fit(recal.InMemory(p), nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
