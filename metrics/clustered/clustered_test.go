package clustered_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/clustered"
	"github.com/candor-go/candor/metrics/score"
)

// rows are of a binary task, in clusters.
type rows struct {
	p, w    []float64
	y, of   []int32
	weights bool
}

// sample draws rows whose scores and outcomes go together within clusters.
func sample(seed uint64, n, clusters int, weights bool) *rows {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &rows{weights: weights}
	shift := make([]float64, clusters)
	for i := range shift {
		shift[i] = r.NormFloat64()
	}
	for range n {
		g := r.IntN(clusters)
		x := r.NormFloat64() + shift[g]
		y := int32(0)
		if r.Float64() < 1/(1+math.Exp(-x-shift[g]/2)) {
			y = 1
		}
		s.p, s.y, s.of, s.w = append(s.p, math.Round(64/(1+math.Exp(-x)))/64), append(s.y, y), append(s.of, int32(g)), append(s.w, float64(1+r.IntN(4)))
	}
	return s
}

// chunk is a source of rows from one to before another.
type chunk struct {
	s        *rows
	from, to int
	name     func(int32) string
	done     bool
}

func (c *chunk) Next() (*metrics.Chunk, error) {
	if c.done {
		return nil, io.EOF
	}
	c.done = true
	k := &metrics.Chunk{First: int64(c.from), Clusters: c.s.of[c.from:c.to], ClusterName: c.name}
	k.F64, k.Rows, k.Classes, k.Labels = c.s.p[c.from:c.to], c.to-c.from, 1, c.s.y[c.from:c.to]
	if c.s.weights {
		k.Weights = c.s.w[c.from:c.to]
	}
	return k, nil
}

var options = clustered.Options{Scored: true, Event: metrics.Positive, Losses: []metrics.RowMetric{
	metrics.Must(score.ParseRowMetric("nll(clip=0.001)", metrics.Probs, 1)), metrics.Must(score.ParseRowMetric("brier", metrics.Probs, 1)), metrics.Must(score.ParseRowMetric("overconfidence", metrics.Probs, 1))}}

func read(t testing.TB, s *rows, from, to int, name func(int32) string) *clustered.Sums {
	t.Helper()
	sums := clustered.New(options)
	if err := metrics.NewPass(&metrics.Options{Threads: 3}, sums).AddSource(&chunk{s: s, from: from, to: to, name: name}); err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestMean: means and their errors are those of the definition.
func TestMean(t *testing.T) {
	for _, weights := range []bool{false, true} {
		s := sample(1, 500, 23, weights)
		sums := read(t, s, 0, 500, nil)
		mean, se, ok := sums.Mean("brier")
		if _, _, other := sums.Mean("crps"); !ok || other {
			t.Error("a loss that is not kept, or not one that is")
		}
		sum, n := 0.0, 0.0
		loss := func(i int) float64 { d := s.p[i] - float64(s.y[i]); return d * d }
		w := func(i int) float64 {
			if weights {
				return s.w[i]
			}
			return 1
		}
		for i := range s.p {
			sum += w(i) * loss(i)
			n += w(i)
		}
		of, size := make([]float64, 23), make([]float64, 23)
		for i := range s.p {
			of[s.of[i]] += w(i) * (loss(i) - sum/n)
			size[s.of[i]] += w(i)
		}
		v := 0.0
		for g, d := range of {
			v += d * d / (1 - size[g]/n)
		}
		want := math.Sqrt(v) / n
		if math.Abs(mean-sum/n) > 1e-14 || math.Abs(se-want) > 1e-13 {
			t.Errorf("mean %v +- %v, want %v +- %v", mean, se, sum/n, want)
		}
	}
}

// TestAUROC: the error of the area is Obuchowski's by comparing each row with each.
func TestAUROC(t *testing.T) {
	for _, weights := range []bool{false, true} {
		s := sample(2, 400, 31, weights)
		got := read(t, s, 0, 400, nil).Scores(metrics.Positive).AUROC()
		w := func(i int) float64 {
			if weights {
				return s.w[i]
			}
			return 1
		}
		pos, neg, area := 0.0, 0.0, 0.0
		v := make([]float64, 400)
		for i, y := range s.y {
			if y == 1 {
				pos += w(i)
			} else {
				neg += w(i)
			}
		}
		for i := range s.y {
			for j := range s.y {
				if s.y[i] == 1 && s.y[j] == 0 {
					psi := 0.0
					if s.p[i] > s.p[j] {
						psi = 1
					} else if s.p[i] == s.p[j] {
						psi = 0.5
					}
					v[i] += w(j) * psi / neg
					v[j] += w(i) * psi / pos
					area += w(i) * w(j) * psi / (pos * neg)
				}
			}
		}
		var of [2][31]float64
		var size [31]float64
		var has [2][31]bool
		for i, y := range s.y {
			of[y][s.of[i]] += w(i) * (v[i] - area)
			size[s.of[i]] += w(i)
			has[y][s.of[i]] = true
		}
		s10, s01, s11, g1, g0 := 0.0, 0.0, 0.0, 0.0, 0.0
		for g := range 31 {
			k := 30.0 / 31 / (1 - size[g]/(pos+neg))
			s10 += k * of[1][g] * of[1][g]
			s01 += k * of[0][g] * of[0][g]
			s11 += k * of[1][g] * of[0][g]
			if has[1][g] {
				g1++
			}
			if has[0][g] {
				g0++
			}
		}
		want := math.Sqrt(g1/(g1-1)*s10/(pos*pos) + g0/(g0-1)*s01/(neg*neg) + 2*31.0/30*s11/(pos*neg))
		if math.Abs(got-want) > 1e-12*want {
			t.Errorf("error %v, want %v", got, want)
		}
	}
}

// TestMerge: however the rows and clusters are divided, and whatever their numbers are, the state has the same bytes, and is read back.
func TestMerge(t *testing.T) {
	name := func(i int32) string { return fmt.Sprintf("video %d", i) }
	for _, weights := range []bool{false, true} {
		s := sample(3, 900, 40, weights)
		for i := range s.w {
			if i%7 == 0 {
				s.w[i] = math.Ldexp(s.w[i], 30-i%60)
			}
		}
		whole, err := read(t, s, 0, 900, name).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		other := &rows{p: s.p, y: s.y, w: s.w, weights: weights, of: make([]int32, 900)}
		for i, g := range s.of {
			other.of[i] = 39 - g
		}
		back := func(i int32) string { return name(39 - i) }
		a, b, c := read(t, s, 0, 201, name), read(t, other, 201, 640, back), read(t, s, 640, 900, name)
		for _, o := range []*clustered.Sums{c, b} {
			if err := a.Merge(o); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := b.AppendBinary(nil)
		if want, err2 := read(t, other, 201, 640, back).AppendBinary(nil); err != nil || err2 != nil || !bytes.Equal(kept, want) {
			t.Errorf("what was merged is another now: %v, %v", err, err2)
		}
		parts, err := a.AppendBinary(nil)
		if err != nil || !bytes.Equal(whole, parts) {
			t.Fatalf("states of parts differ from that of all rows: %v", err)
		}
		again := clustered.New(options)
		if err := again.UnmarshalBinary(whole); err != nil {
			t.Fatal(err)
		}
		if third, err := again.AppendBinary(nil); err != nil || !bytes.Equal(whole, third) || again.Count() != 40 || again.Len() != 900 {
			t.Errorf("read back: %d clusters, %d rows, %v", again.Count(), again.Len(), err)
		}
		for i := range whole {
			bad := bytes.Clone(whole)
			bad[i] ^= 4
			if err := clustered.New(options).UnmarshalBinary(bad); err == nil {
				t.Fatalf("byte %d changed, and read", i)
			}
		}
		if err := clustered.New(clustered.Options{}).UnmarshalBinary(whole); err == nil {
			t.Error("read as a state of other losses")
		}
		if err := again.Merge(clustered.New(clustered.Options{})); err == nil {
			t.Error("merged with other losses")
		}
	}
}

// TestMany: of more clusters than are loaded at once, the state has the same bytes in random order, cluster after cluster, and whether their numbers
// are low or far apart.
func TestMany(t *testing.T) {
	for _, weights := range []bool{false, true} {
		const n, clusters = 4000, 900
		s := sample(6, n, clusters, weights)
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.of[a], s.of[b]) })
		ordered, apart := &rows{weights: weights}, &rows{p: s.p, y: s.y, w: s.w, weights: weights}
		for i, from := range order {
			ordered.p, ordered.y, ordered.w, ordered.of = append(ordered.p, s.p[from]), append(ordered.y, s.y[from]), append(ordered.w, s.w[from]), append(ordered.of, s.of[from])
			g := s.of[i]
			if g%3 > 0 {
				g += 1_000_000 * (g % 3)
			}
			apart.of = append(apart.of, g)
		}
		name := func(i int32) string { return strconv.Itoa(int(i % 1_000_000)) }
		want, err := read(t, s, 0, n, name).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for kind, s := range []*rows{ordered, apart} {
			if got, err := read(t, s, 0, n, name).AppendBinary(nil); err != nil || !bytes.Equal(got, want) {
				t.Errorf("weights %v, kind %d: another state, %v", weights, kind, err)
			}
		}
	}
}

// TestFew: one cluster has no error, and no row none.
func TestFew(t *testing.T) {
	s := sample(4, 50, 1, false)
	sums := read(t, s, 0, 50, nil)
	if _, se, _ := sums.Mean("brier"); se == se || sums.Scores(metrics.Positive).AUROC() == sums.Scores(metrics.Positive).AUROC() {
		t.Error("the error of one cluster")
	}
	if sums.Largest() != 50 || clustered.New(options).Scores(metrics.Positive) != nil {
		t.Error("sizes")
	}
	if i := sums.Wilson(0.5, math.NaN(), 50, 2); i.Low == i.Low {
		t.Error(i)
	}
}

// TestRoom: what clusters need is counted for all goroutines together.
func TestRoom(t *testing.T) {
	s := sample(5, 3000, 3000, false)
	sums := clustered.New(options)
	room := &clustered.Room{Bytes: 100_000}
	sums.Limit(room)
	if err := metrics.NewPass(&metrics.Options{Threads: 2}, sums).AddSource(&chunk{s: s, to: 3000}); err != nil || !room.Full() {
		t.Errorf("%v, full: %v", err, room.Full())
	}
}
