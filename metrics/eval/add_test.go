package eval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
)

// team returns the probabilities of an ensemble.
func team(seed uint64, rows, classes, members int, weighted bool) *metrics.Members {
	p := predictions(seed, rows, classes, weighted)
	t := &metrics.Members{Labels: p.Labels, Weights: p.Weights}
	for m := range members {
		t.Each = append(t.Each, predictions(seed+uint64(m)*100, rows, classes, false).Scores)
	}
	return t
}

// rowsOf returns some of its rows.
func rowsOf(t *metrics.Members, from, to int) *metrics.Members {
	o := *t
	o.Each, o.Labels = nil, t.Labels[from:to]
	if t.Weights != nil {
		o.Weights = t.Weights[from:to]
	}
	for _, s := range t.Each {
		s.F64, s.Rows = s.F64[from*s.Classes:to*s.Classes], to-from
		o.Each = append(o.Each, s)
	}
	return &o
}

// numbers returns samples and what was observed, or log-likelihoods, which nothing is observed of.
func numbers(seed uint64, n, draws int, k metrics.Kind) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 3))
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: draws}, Kind: k}
	for range n {
		for range draws {
			p.F64 = append(p.F64, r.NormFloat64()-2)
		}
		if k == metrics.Samples {
			p.Observed = append(p.Observed, r.NormFloat64())
		}
	}
	return p
}

func listOf(t testing.TB, s string, of Shape) []Metric {
	t.Helper()
	m, err := ParseMetrics(s, of)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const outMetrics = "default,ood_auroc(score=entropy),ood_auprc_in,ood_auprc_out(area=trapezoid),ood_fpr95(found=0.8),ood_auroc(score=energy)"

// unlike returns evaluations of each shape other than the classes of one model, and of additional inputs.
func unlike(t testing.TB) []struct {
	name string
	spec Spec
	add  func(e *Evaluation, from, to int) error // of 40 rows
	e    *Evaluation
} {
	type one = struct {
		name string
		spec Spec
		add  func(e *Evaluation, from, to int) error
		e    *Evaluation
	}
	var l []one
	put := func(name, metrics string, s Spec, add func(e *Evaluation, from, to int) error) {
		t.Helper()
		s.Metrics = listOf(t, metrics, s.Shape())
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := add(e, 0, 40); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l = append(l, one{name, s, add, e})
	}
	few := "accuracy,ece(bins=4),mutual_information,total_uncertainty,gibbs_nll,ensemble_nll,disagreement(normalised),double_fault(conditional),average_kl," +
		"average_kl(all_pairs,clip,generalized),logit_kl,cosine_similarity,lp_distance(p=2),bregman_kl_variance,variance_bound,retention_nll,spherical,brier_skill"
	for _, c := range []struct{ classes, members int }{{1, 2}, {2, 3}, {4, 1}, {3, 5}} {
		for _, weighted := range []bool{false, true} {
			m := team(uint64(c.classes*10+c.members), 40, c.classes, c.members, weighted)
			s := Spec{Classes: c.classes, Members: c.members}
			s.Base.Bins = 3
			put(fmt.Sprintf("%d members of %d classes, weights %v", c.members, c.classes, weighted), few, s, func(e *Evaluation, from, to int) error {
				return e.AddMembers(ensemble.InMemory(rowsOf(m, from, to)), nil)
			})
		}
	}
	part := func(p *metrics.Predictions, from, to int) *source {
		q := *p
		if q.Rows = to - from; p.F64 != nil {
			q.F64 = p.F64[from*p.Classes : to*p.Classes]
		}
		if p.F32 != nil {
			q.F32 = p.F32[from*p.Classes : to*p.Classes]
		}
		if p.Weights != nil {
			q.Weights = p.Weights[from:to]
		}
		if p.Labels != nil {
			q.Labels = p.Labels[from:to]
		}
		if p.Observed != nil {
			q.Observed = p.Observed[from:to]
		}
		return &source{&q, int64(from)}
	}
	for _, k := range []metrics.Kind{metrics.Samples, metrics.LogLiks} {
		for _, draws := range []int{1, 7} {
			p := numbers(uint64(draws), 40, draws, k)
			put(fmt.Sprintf("%d %v", draws, k), "all", Spec{Classes: draws, Kind: k}, func(e *Evaluation, from, to int) error {
				return e.AddSource(part(p, from, to), nil)
			})
		}
	}
	for _, c := range everyForecast(t) {
		if strings.Contains(c.name, "of f32") {
			continue // as those of float64
		}
		put(c.name, c.metrics, c.spec, func(e *Evaluation, from, to int) error { return e.AddSource(part(c.p, from, to), nil) })
	}
	d := predictions(77, 40, 3, false)
	d.Kind = metrics.Dirichlet
	put("parameters", "default,total_uncertainty,data_uncertainty,eaurc(replicates=20)", Spec{Classes: 3, Kind: d.Kind}, func(e *Evaluation, from, to int) error {
		return e.AddSource(part(d, from, to), nil)
	})
	p := predictions(78, 40, 3, false)
	put("out of distribution", outMetrics, Spec{Classes: 3, Out: true}, func(e *Evaluation, from, to int) error {
		if err := e.AddSource(part(p, from, to), nil); err != nil {
			return err
		}
		return e.AddOut(part(predictions(79, 40, 3, false), from/2, to/2), nil)
	})
	return l
}

func read(t testing.TB, b []byte) *Evaluation {
	t.Helper()
	e := new(Evaluation)
	if err := e.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	return e
}

// same reports whether two answers are equal.
func same(a, b Value) bool {
	for _, p := range [][2]float64{{a.Value, b.Value}, {a.Interval.Low, b.Interval.Low}, {a.Interval.High, b.Interval.High}} {
		if math.Float64bits(p[0]) != math.Float64bits(p[1]) && !(math.IsNaN(p[0]) && math.IsNaN(p[1])) {
			return false
		}
	}
	return a.Reason == b.Reason && a.Method == b.Method && a.Note == b.Note && a.Count == b.Count
}

// TestUnlikeRoundTrip holds of ensembles, numbers, parameters and foreign rows what TestRoundTrip and TestMergeEqualsAll do of classes.
func TestUnlikeRoundTrip(t *testing.T) {
	for _, c := range unlike(t) {
		whole := state(t, c.e)
		again := read(t, whole)
		if !bytes.Equal(state(t, again), whole) || again.Given != c.e.Given || again.Out != c.e.Out {
			t.Errorf("%s: the state differs after a round trip", c.name)
		}
		for _, m := range c.spec.Metrics {
			v, w := c.e.Value(m), again.Value(m)
			if !same(v, w) || c.e.Text(m) == "" || c.e.Text(m) != again.Text(m) {
				t.Errorf("%s: %v is %+v, then %+v", c.name, m, v, w)
			}
			if math.IsNaN(v.Interval.Low) != (v.Reason != "") || v.Reason == noRows {
				t.Errorf("%s: %v has neither interval nor reason, or both: %+v", c.name, m, v)
			}
			if i := v.Interval; !math.IsNaN(i.Low) && !(i.Low <= v.Value && v.Value <= i.High && v.Method != "") {
				t.Errorf("%s: %v: %+v", c.name, m, v)
			}
		}
		if len(again.Members()) != c.spec.Members {
			t.Errorf("%s: %d members", c.name, len(again.Members()))
		}
		for i, one := range again.Members() {
			for _, m := range one.Spec.Metrics {
				if v := one.Value(m); !same(v, c.e.Members()[i].Value(m)) || math.IsNaN(v.Value) {
					t.Errorf("%s: %v of member %d is %+v", c.name, m, i, v)
				}
			}
		}
		// Parts in any order, some by way of a state, and one without rows.
		orders := [][]int{{2, 1, 0}, {0, 1, 2}, {1, 2, 0}}
		for _, order := range orders[:check.Size(1, 2, 3)] {
			cuts := []int{0, 8, 30, 40}
			sum, err := New(c.spec)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range order {
				e, err := New(c.spec)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.add(e, cuts[i], cuts[i+1]); err != nil {
					t.Fatal(err)
				}
				if err := sum.Merge(read(t, state(t, e))); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
			}
			if !bytes.Equal(state(t, sum), whole) {
				t.Errorf("%s: merged in the order %v it differs", c.name, order)
			}
		}
		// No rows have a reason each, and a state.
		none, err := New(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		empty := read(t, state(t, none))
		for _, m := range c.spec.Metrics {
			if v := empty.Value(m); !(math.IsNaN(v.Value) && v.Reason == noRows) && !Describe(m.Name).Whole {
				t.Errorf("%s: without rows %v is %+v", c.name, m, v)
			}
		}
		if err := empty.Merge(c.e); err != nil || !bytes.Equal(state(t, empty), whole) {
			t.Errorf("%s: without rows it is more than nothing: %v", c.name, err)
		}
	}
}

// TestMembersAlone: a member is what it is by itself, the rows are their mean, and all have the same weights.
func TestMembersAlone(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		m := team(5, 60, 3, 4, weighted)
		s := Spec{Classes: 3, Members: 4, Metrics: listOf(t, "default,gibbs_nll", Shape{Classes: 3, Members: 4})}
		e := fill(t, s, nil)
		if err := e.AddMembers(ensemble.InMemory(m), &metrics.Options{Threads: 2}); err != nil {
			t.Fatal(err)
		}
		mean := predictions(5, 60, 3, false)
		clear(mean.F64)
		mean.Labels = m.Labels
		gibbs := 0.0
		for i, scores := range m.Each {
			for j, p := range scores.F64 {
				mean.F64[j] += p / 4
			}
			one := fill(t, Spec{Classes: 3, Metrics: list(t, MemberMetrics, 3)}, &metrics.Predictions{Scores: scores, Labels: m.Labels, Weights: m.Weights})
			for _, k := range one.Spec.Metrics {
				// Bins have their sums in another form than cells.
				v, w := e.Members()[i].Value(k), one.Value(k)
				if near := math.Abs(v.Interval.Low-w.Interval.Low)+math.Abs(v.Interval.High-w.Interval.High) < 1e-14; v.Value != w.Value || !same(v, w) && !near {
					t.Errorf("%v of member %d is %+v, by itself %+v", k, i, v, w)
				}
			}
			gibbs += one.Loss.NLL() / 4
		}
		mean.Weights = m.Weights
		one := fill(t, Spec{Classes: 3, Metrics: list(t, "default", 3)}, mean)
		for _, k := range one.Spec.Metrics {
			if v, w := e.Value(k).Value, one.Value(k).Value; !(math.Abs(v-w) < 1e-12) && !(math.IsNaN(v) && math.IsNaN(w)) {
				t.Errorf("%v is %v, of the mean %v", k, v, w)
			}
		}
		if v := e.Value(Metric{Name: "gibbs_nll"}).Value; !(math.Abs(v-gibbs) < 1e-12) {
			t.Errorf("gibbs_nll is %v, the mean of the members' NLL %v", v, gibbs)
		}
	}
}

// TestMembersDropped: a row that is bad in one member is left out of all, and a failed reading changes nothing.
func TestMembersDropped(t *testing.T) {
	s := Spec{Classes: 3, Members: 3, Metrics: listOf(t, "all", Shape{Classes: 3, Members: 3})}
	good, bad := team(6, 20, 3, 3, false), team(6, 20, 3, 3, false)
	bad.Each[1].F64[3*7] = math.NaN()
	e := fill(t, s, nil)
	before := state(t, e)
	var data *metrics.DataError
	if err := e.AddMembers(ensemble.InMemory(bad), nil); !errors.As(err, &data) || !strings.Contains(err.Error(), "member 1: row 7") {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(state(t, e), before) {
		t.Error("a refused ensemble changed the state")
	}
	if err := e.AddMembers(ensemble.InMemory(bad), &metrics.Options{Drop: true}); err != nil || e.Audit.Rows != 19 || e.Audit.Dropped != 1 {
		t.Errorf("%v: %+v", err, e.Audit)
	}
	without := fill(t, s, nil)
	for _, cut := range [][2]int{{0, 7}, {8, 20}} {
		if err := without.AddMembers(ensemble.InMemory(rowsOf(good, cut[0], cut[1])), nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range s.Metrics {
		if i < 40 && !Describe(m.Name).random && !same(e.Value(m), without.Value(m)) {
			t.Errorf("%v is %+v, without the row %+v", m, e.Value(m), without.Value(m))
		}
	}
	read(t, state(t, e))
	// Of none that is left there is a state.
	for i := range bad.Each[1].F64 {
		bad.Each[1].F64[i] = math.NaN()
	}
	e = fill(t, s, nil)
	if err := e.AddMembers(ensemble.InMemory(bad), &metrics.Options{Drop: true}); err != nil || e.Audit.Rows != 0 || e.Audit.Dropped != 20 {
		t.Errorf("%v: %+v", err, e.Audit)
	}
	read(t, state(t, e))
}

// TestAddToOthers: rows that are not those of the spec are refused, and nothing changes.
func TestAddToOthers(t *testing.T) {
	one, of, away := Spec{Classes: 3}, Spec{Classes: 3, Members: 2}, Spec{Classes: 3, Out: true, Metrics: listOf(t, outMetrics, Shape{Classes: 3, Out: true})}
	samples, liks := Spec{Classes: 3, Kind: metrics.Samples}, Spec{Classes: 3, Kind: metrics.LogLiks}
	p, four := predictions(1, 9, 3, false), predictions(1, 9, 4, false)
	logits := *p
	logits.Kind = metrics.Logits
	single := func(p *metrics.Predictions) func(e *Evaluation) error {
		return func(e *Evaluation) error { return e.AddSource(&source{p: p}, nil) }
	}
	foreign := func(p *metrics.Predictions) func(e *Evaluation) error {
		return func(e *Evaluation) error { return e.AddOut(&source{p: p}, nil) }
	}
	many := func(members, classes int) func(e *Evaluation) error {
		return func(e *Evaluation) error {
			return e.AddMembers(ensemble.InMemory(team(1, 9, classes, members, false)), nil)
		}
	}
	for _, c := range []struct {
		s    Spec
		add  func(e *Evaluation) error
		want string
	}{
		{one, many(2, 3), "rows of an ensemble for an evaluation of one model"},
		{of, single(p), "rows of one model for an evaluation of 2 members"},
		{of, many(3, 3), "an ensemble of 3 members for an evaluation of 2"},
		{of, many(2, 4), "rows of 4 classes for an evaluation of 3"},
		{one, foreign(p), "out-of-distribution rows for an evaluation without"},
		{away, foreign(four), "rows of 4 classes for an evaluation of 3"},
		{one, single(numbers(1, 9, 3, metrics.Samples)), "rows of samples for an evaluation of probs"},
		{samples, single(p), "rows of probs for an evaluation of samples"},
		{samples, single(numbers(1, 9, 4, metrics.Samples)), "rows of 4 draws for an evaluation of 3"},
		{liks, single(numbers(1, 9, 3, metrics.Samples)), "rows of samples for an evaluation of loglik"},
		{Spec{Classes: 2, Kind: metrics.Normals}, single(normals(1, 9, false)), "rows of 3 columns for an evaluation of 2"},
		{levelled(0.1, 0.5, 0.9), single(normals(1, 9, false)), "rows of normal for an evaluation of quantiles"},
	} {
		e := fill(t, c.s, nil)
		before := state(t, e)
		if err := c.add(e); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if !bytes.Equal(state(t, e), before) {
			t.Errorf("%s: it changed the state", c.want)
		}
	}
	// Foreign rows may come first, and are told apart by kind from other foreign rows.
	e := fill(t, away, nil)
	for _, add := range []func(e *Evaluation) error{foreign(p), single(p), foreign(p)} {
		if err := add(e); err != nil {
			t.Fatal(err)
		}
	}
	if e.Out.Rows != 18 || e.Audit.Rows != 9 {
		t.Errorf("%d foreign rows, %d others", e.Out.Rows, e.Audit.Rows)
	}
	if err := foreign(&logits)(e); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), "out-of-distribution rows: ") {
		t.Errorf("%v", err)
	}
	e = fill(t, away, nil)
	if err := errors.Join(single(p)(e), foreign(&logits)(e)); err != nil {
		t.Fatal(err)
	}
	if v := e.Value(Metric{Name: "ood_auroc"}); math.IsNaN(v.Value) && v.Reason == "" {
		t.Errorf("logits against probabilities: %+v", v)
	}
	heavy := fill(t, away, nil)
	if err := foreign(predictions(1, 9, 3, true))(heavy); err != nil {
		t.Fatal(err)
	}
	if err := single(p)(heavy); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), "the out-of-distribution rows have weights, the others have none") {
		t.Errorf("%v", err)
	}
	if err := single(predictions(1, 9, 3, true))(heavy); err != nil || heavy.Foreign() == nil {
		t.Errorf("%v", err)
	}
	if err := foreign(p)(heavy); !errors.Is(err, metrics.ErrMismatch) || heavy.Out.Rows != 9 {
		t.Errorf("%v", err)
	}
	if e.Foreign() == nil || fill(t, one, nil).Foreign() != nil {
		t.Error("the comparison with foreign rows is not where it belongs")
	}
}

func TestMergeUnlike(t *testing.T) {
	with := func(s Spec) *Evaluation { return fill(t, s, nil) }
	logits := team(1, 9, 3, 2, false)
	logits.Kind = metrics.Logits
	probs, other := with(Spec{Classes: 3, Members: 2}), with(Spec{Classes: 3, Members: 2})
	if err := errors.Join(probs.AddMembers(ensemble.InMemory(team(1, 9, 3, 2, false)), nil), other.AddMembers(ensemble.InMemory(logits), nil)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b *Evaluation
		want string
	}{
		{with(Spec{Classes: 3, Members: 2}), with(Spec{Classes: 3, Members: 3}), "ensembles of 2 and of 3 members"},
		{with(Spec{Classes: 3}), with(Spec{Classes: 3, Members: 3}), "ensembles of 0 and of 3 members"},
		{with(Spec{Classes: 3}), with(Spec{Classes: 3, Kind: metrics.Samples}), "scores are probs and samples"},
		{with(Spec{Classes: 3}), with(Spec{Classes: 3, Kind: metrics.Dirichlet}), "scores are probs and dirichlet"},
		{with(Spec{Classes: 3}), with(Spec{Classes: 3, Out: true}), "one has out-of-distribution rows, the other has none"},
		{with(Spec{Classes: 3, Kind: metrics.Samples}), with(Spec{Classes: 4, Kind: metrics.Samples}), "3 draws and 4 draws"},
		{with(Spec{Classes: 3, Kind: metrics.Normals}), with(Spec{Classes: 2, Kind: metrics.Normals}), "3 columns and 2 columns"},
		{with(Spec{Classes: 3, Kind: metrics.Normals}), with(Spec{Classes: 3, Kind: metrics.Samples}), "scores are normal and samples"},
		{with(levelled(0.1, 0.5)), with(levelled(0.1, 0.5, 0.9)), "2 quantiles and 3 quantiles"},
		{with(levelled(0.1, 0.5)), with(levelled(0.1, 0.6)), "quantiles at the levels [0.1 0.5] and at [0.1 0.6]"},
		{probs, other, "members' scores are probs and logits"},
	} {
		before := state(t, c.a)
		if err := c.a.Merge(c.b); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if !bytes.Equal(state(t, c.a), before) {
			t.Errorf("%s: a refused merge changed the state", c.want)
		}
	}
	// What has seen no rows has no kind of scores.
	none := with(Spec{Classes: 3, Members: 2})
	for _, e := range []*Evaluation{probs, other} {
		if err := errors.Join(none.Merge(with(Spec{Classes: 3, Members: 2})), none.Merge(e)); err != nil || none.Given != e.Given {
			t.Errorf("%v: %v", none.Given, err)
		}
		none = with(Spec{Classes: 3, Members: 2})
	}
}

// TestUnlikeDamage: what is changed in a state is refused, by its checksum or by what it says.
func TestUnlikeDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	for _, c := range unlike(t) {
		good := state(t, c.e)
		try := func(b []byte) error {
			e := new(Evaluation)
			err := e.UnmarshalBinary(b)
			if err == nil && !bytes.Equal(state(t, e), b) {
				t.Errorf("%s: read, and written differently", c.name)
			}
			return err
		}
		for n := 0; n < len(good); n += 1 + len(good)/check.Size(8, 25, 50) {
			if try(good[:n]) == nil || try(check.Reseal(good[:n])) == nil {
				t.Errorf("%s: the first %d bytes were read", c.name, n)
			}
		}
		for range check.Size(8, 30, 60) {
			bad := slices.Clone(good)
			i := r.IntN(len(bad))
			bad[i] ^= 1 << r.IntN(8)
			if try(bad) == nil {
				t.Errorf("%s: byte %d changed was read", c.name, i)
			}
			_ = try(check.Reseal(bad)) // another number is one
		}
	}
}

// TestLyingMembers: a state that says that it has more members than it can have takes no memory for them.
func TestLyingMembers(t *testing.T) {
	s := Spec{Classes: 3, Members: 2}
	e := fill(t, s, nil)
	if err := e.AddMembers(ensemble.InMemory(team(1, 9, 3, 2, false)), nil); err != nil {
		t.Fatal(err)
	}
	read(t, sealed(t, e, func(*fields) {}))
	for name, change := range map[string]func(f *fields){
		"few":               func(f *fields) { f.members = 3 },
		"fewer":             func(f *fields) { f.members = 1 },
		"as many as bytes":  func(f *fields) { f.members = uint32(len(state(t, e))) },
		"many":              func(f *fields) { f.members = 1 << 24 },
		"most":              func(f *fields) { f.members = math.MaxUint32 },
		"of many bins":      func(f *fields) { f.members, f.bins = 1<<20, 1<<20 },
		"of bins":           func(f *fields) { f.bins = 1 << 20 },
		"no ensemble":       func(f *fields) { f.members = 0 },
		"samples":           func(f *fields) { f.kind = uint8(metrics.Samples) },
		"members' samples":  func(f *fields) { f.given = uint8(metrics.Samples) },
		"swapped members":   func(f *fields) { n := len(f.parts); f.parts[n-1], f.parts[n-2] = f.parts[n-2], f.parts[n-1] },
		"a member's rows":   func(f *fields) { f.parts[len(f.parts)-1] = state(t, fill(t, Spec{Classes: 3}, nil)) },
		"no row of members": func(f *fields) { f.audits[0] = nil },
	} {
		b := sealed(t, e, change)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := new(Evaluation).UnmarshalBinary(b)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s was read", name)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes for a state of %d: %v", name, n, len(b), err)
		}
	}
}

// TestMoreReasons: what an answer that is not a number says.
func TestMoreReasons(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	binary := func(weights bool, labels []int32, p ...float64) *metrics.Predictions {
		q := &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: labels}
		if weights {
			for i := range p {
				q.Weights = append(q.Weights, float64(1+i%3))
			}
		}
		return q
	}
	mixed := binary(false, []int32{1, 0, 1, 0}, 0, 0.25, 0.75, 0.5)
	right := binary(false, []int32{0, 1, 0, 1}, 0.1, 0.9, 0.2, 0.7)
	ones := binary(false, []int32{1, 1, 1}, 0.9, 0.6, 0.2)
	scored := binary(false, mixed.Labels, mixed.F64...)
	scored.ConfidenceScores = []float64{0.5, 0.6, 0.7, 0.8}
	sure := binary(false, mixed.Labels, 0.125, 0.25, 0.75, 0.5)
	decided := binary(false, mixed.Labels, sure.F64...)
	decided.Decisions = []int32{0, 1, 1, 1}
	const caller = "not the caller's confidence scores: evaluate without ConfidenceScores"
	for _, c := range []struct {
		p      *metrics.Predictions
		metric string
		want   float64
		reason string
	}{
		{mixed, "nll_skill", -inf, "1 row gave its true class probability 0; the mean of the others is "},
		{mixed, "retention_nll", inf, "1 row gave its true class probability 0"},
		{mixed, "brier_skill", 1 - (1+0.0625+0.0625+0.25)/4/0.25, ""},
		{mixed, "spherical", nan, ""}, // a number, with an interval
		{ones, "nll_skill", nan, "all rows are of one class, so the base rates are certain of it"},
		{ones, "brier_skill", nan, "all rows are of one class, so the base rates are certain of it"},
		{ones, "auroc", nan, "all rows are of class 1, or none is"},
		{ones, "auprc", 1, "no interval is computed"},
		{ones, "oracle_auc", nan, "all rows are of class 1, or none is"},
		{ones, "brier_uncertainty", 0, "no interval is computed"},
		{right, "auroc", 1, "no interval"},
		{right, "auprc(area=trapezoid)", 1, "no interval is computed"},
		{right, "abstain_recall(fraction=0.5)", nan, "no row is wrong"},
		{right, "abstain_precision(fraction=0.5)", 0, "no interval is computed"},
		{right, "abstain_precision", nan, "no row is withheld: the fraction is less than a row"},
		{right, "oracle_accuracy(fraction=1)", 1, "no interval is computed"},
		{right, "eaurc(replicates=20)", 0, ""},
		{right, "retention_accuracy", 1, "no interval is computed"},
		{scored, "auroc", 0.5, "no interval is computed"}, {scored, "ks", nan, caller}, {scored, "sharpness_class0", nan, caller}, {scored, "corp_mcb(event=top)", nan, caller}, {scored, "retention_nll", inf, "1 row gave its true class probability 0"},
		{scored, "ece_equal_mass", nan, caller}, {scored, "brier_resolution", nan, caller}, {scored, "abstain_recall(fraction=0.5)", 1, "no interval is computed"},
		{scored, "abstain_recall(bins=5)", nan, "leave bins= out"}, {scored, "retention_accuracy", nan, ""},
		{scored, "brier_resolution(by=class)", 1.0 / 12, "no interval is computed"}, {scored, "spherical", nan, ""},
		{scored, "brier_skill", 1 - (1+0.0625+0.0625+0.25)/4/0.25, ""},
	} {
		m := list(t, c.metric, 1)
		v := fill(t, Spec{Classes: 1, Metrics: m, Scored: c.p.ConfidenceScores != nil}, c.p).Value(m[0])
		if c.reason == "" {
			if math.IsNaN(v.Value) || !math.IsNaN(c.want) && v.Value != c.want {
				t.Errorf("%s is %+v", c.metric, v)
			}
			continue
		}
		if !strings.HasPrefix(v.Reason, c.reason) && !strings.HasSuffix(v.Reason, c.reason) || v.Value != c.want && !(math.Abs(v.Value-c.want) < 1e-15) && !(math.IsNaN(v.Value) && math.IsNaN(c.want)) {
			t.Errorf("%s is %+v, want %v: %s", c.metric, v, c.want, c.reason)
		}
	}
	// What is of class 1 is not of decisions; what is of confidence is.
	names := "auroc,auprc,oracle_auc,brier_resolution,brier_resolution(by=class),brier_skill,spherical,retention_nll,retention_accuracy,augrc(replicates=20)"
	l := list(t, names, 1)
	a, b := fill(t, Spec{Classes: 1, Metrics: l}, sure), fill(t, Spec{Classes: 1, Metrics: l, Decided: true}, decided)
	for i, m := range l {
		text := strings.Contains(b.Text(m), "the caller's decisions")
		if own := i >= 7; text != own || same(a.Value(m), b.Value(m)) == own {
			t.Errorf("%v is %+v, with decisions %+v: %s", m, a.Value(m), b.Value(m), b.Text(m))
		}
	}
	// Weights that are all alike change nothing but the interval of ranks.
	w := binary(true, right.Labels, right.F64...)
	for i := range w.Weights {
		w.Weights[i] = 2
	}
	a, b = fill(t, Spec{Classes: 1, Metrics: l}, right), fill(t, Spec{Classes: 1, Metrics: l}, w)
	for _, m := range l {
		if x, y := a.Value(m).Value, b.Value(m).Value; !(math.Abs(x-y) < 0.3) { // an integral over weight, in place of a sum over rows
			t.Errorf("%v is %v, with weights %v", m, x, y)
		}
	}
}

// TestMembersReasons: the same of ensembles and of numbers.
func TestMembersReasons(t *testing.T) {
	inf := math.Inf(1)
	members := func(labels []int32, each ...[]float64) *metrics.Members {
		m := &metrics.Members{Labels: labels}
		for _, f := range each {
			m.Each = append(m.Each, metrics.Scores{F64: f, Rows: len(labels), Classes: 2})
		}
		return m
	}
	zeros := members([]int32{0, 0}, []float64{1, 0, 0, 1}, []float64{0, 1, 0, 1})
	one := members([]int32{0, 1}, []float64{0.6, 0.4, 0.3, 0.7})
	right := members([]int32{0, 1}, []float64{0.6, 0.4, 0.3, 0.7}, []float64{0.7, 0.3, 0.2, 0.8})
	for _, c := range []struct {
		m      *metrics.Members
		metric string
		want   float64
		reason string
	}{
		{zeros, "ensemble_nll", inf, "1 row gave its true class probability 0 in all members; the mean of the others is 0.6931472"},
		{zeros, "gibbs_nll", inf, "2 rows gave their true class probability 0 in a member; there are no others"},
		{zeros, "average_kl", inf, "1 row has a class that one member holds possible and another does not; the mean of the others is 0"},
		{zeros, "bregman_kl_variance", inf, "1 row has no class that all members hold possible; the mean of the others is 0"},
		{one, "disagreement", math.NaN(), oneMember}, {one, "double_fault", math.NaN(), oneMember}, {one, "average_kl", math.NaN(), oneMember},
		{one, "mutual_information", 0, ""}, {one, "variance_bound", 0, ""}, {one, "bregman_kl_variance", 0, ""},
		{right, "double_fault(conditional)", math.NaN(), "a member is never wrong"}, {right, "double_fault", 0, ""},
		{right, "disagreement(normalised)", 0, "no interval is computed"}, {right, "disagreement", 0, ""},
	} {
		s := Spec{Classes: 2, Members: len(c.m.Each)}
		s.Metrics = listOf(t, c.metric, s.Shape())
		e := fill(t, s, nil)
		if err := e.AddMembers(ensemble.InMemory(c.m), nil); err != nil {
			t.Fatal(err)
		}
		if v := e.Value(s.Metrics[0]); v.Value != c.want && !(math.IsNaN(v.Value) && math.IsNaN(c.want)) || v.Reason != c.reason {
			t.Errorf("%s is %v, %q; want %v, %q", c.metric, v.Value, v.Reason, c.want, c.reason)
		}
	}
	for _, c := range []struct {
		kind   metrics.Kind
		draws  int
		metric string
		reason string // "" is a number
	}{
		{metrics.Samples, 1, "crps", ""}, {metrics.Samples, 1, "crps_fair", oneSample}, {metrics.Samples, 1, "crps_pwm", oneSample},
		{metrics.Samples, 2, "crps_fair", ""}, {metrics.LogLiks, 1, "lppd", ""}, {metrics.LogLiks, 1, "nwaic1", "there is a single draw"},
		{metrics.LogLiks, 1, "psis_loo", "there is a single draw"}, {metrics.LogLiks, 9, "psis_loo", ""},
	} {
		s := Spec{Classes: c.draws, Kind: c.kind}
		s.Metrics = listOf(t, c.metric, s.Shape())
		v := fill(t, s, numbers(3, 12, c.draws, c.kind)).Value(s.Metrics[0])
		if math.IsNaN(v.Value) != (c.reason != "") || v.Reason != c.reason {
			t.Errorf("%s of %d: %+v", c.metric, c.draws, v)
		}
	}
	// Why rows that are many have no interval.
	for _, c := range []struct {
		x              []float64
		kind           metrics.Kind
		metric, reason string
	}{
		{[]float64{0, 1, 1, 0, 1e300, 1}, metrics.Normals, "sharpness", "an infinite mean has no interval"},
		{[]float64{0, 1e-300, 1, 0, 1, 1}, metrics.Normals, "nll", "an infinite mean has no interval"},
		{[]float64{1e300, -1e300, 0, 1e300, -1e300, 1}, metrics.Samples, "crps", "values so large have squares beyond float64"},
		{[]float64{0, 1, 1}, metrics.Normals, "nll", "a single row has no spread"},
	} {
		p := &metrics.Predictions{Kind: c.kind, Scores: metrics.Scores{F64: c.x, Rows: len(c.x) / 3, Classes: 3}}
		if c.kind == metrics.Samples {
			p.Observed = []float64{0, 1}
		}
		s := Spec{Classes: 3, Kind: c.kind}
		s.Metrics = listOf(t, c.metric, s.Shape())
		if v := fill(t, s, p).Value(s.Metrics[0]); v.Reason != c.reason || !math.IsNaN(v.Interval.Low) {
			t.Errorf("%s of %v: %+v; want %s", c.metric, c.x, v, c.reason)
		}
	}
	// The interval is as coded too, and says so.
	coded := Spec{Classes: 9, Kind: metrics.LogLiks}
	coded.Metrics = listOf(t, "nwaic1(as_coded),nwaic1", coded.Shape())
	both := fill(t, coded, numbers(3, 36, 9, metrics.LogLiks))
	if v, w := both.Value(coded.Metrics[0]), both.Value(coded.Metrics[1]); !strings.Contains(v.Method, "s/sqrt(M)") || w.Method != normal {
		t.Errorf("intervals by %q and by %q", v.Method, w.Method)
	}
	// How many rows are not to be trusted.
	s := Spec{Classes: 9, Kind: metrics.LogLiks}
	s.Metrics = listOf(t, "nwaic1,lppd", s.Shape())
	e := fill(t, s, numbers(3, 1, 9, metrics.LogLiks))
	if v := e.Value(s.Metrics[0]); !strings.HasPrefix(v.Note, "1 row has a variance of log-likelihoods above 0.4") || e.Value(s.Metrics[1]).Note != "" {
		t.Errorf("%+v, lppd %+v", v, e.Value(s.Metrics[1]))
	}
}

// ended is a source of no rows.
type ended struct{}

func (ended) Next() (*metrics.MemberChunk, error) { return nil, io.EOF }

func TestNoMembers(t *testing.T) {
	e := fill(t, Spec{Classes: 3, Members: 2}, nil)
	before := state(t, e)
	if err := e.AddMembers(ended{}, nil); err != nil || !bytes.Equal(state(t, e), before) {
		t.Errorf("%v", err)
	}
}

// TestUnlikeTexts: a text says what the options make of a metric.
func TestUnlikeTexts(t *testing.T) {
	for metric, c := range map[string]struct {
		Shape
		want string
	}{
		"ood_auroc":                        {Shape{Classes: 3, Out: true}, "equal scores counting half; score=max_softmax"},
		"ood_auroc(score=energy)":          {Shape{Classes: 3, Out: true}, "equal scores counting half; score=energy"},
		"ood_fpr95(found=0.8)":             {Shape{Classes: 3, Out: true}, "out-of-distribution rows positive; score=max_softmax; found=0.8"},
		"ood_auprc_out(area=trapezoid)":    {Shape{Classes: 3, Out: true}, "area under (recall, precision) by trapezoids, highest scores first, out-of-distribution rows positive; score=max_softmax"},
		"disagreement(normalised)":         {Shape{Classes: 3, Members: 2}, "disagreement / (mean error rate of the members + 1e-7)"},
		"double_fault(conditional)":        {Shape{Classes: 3, Members: 2}, "mean over pairs m < m' of P(m' wrong | m wrong)"},
		"lp_distance":                      {Shape{Classes: 3, Members: 2}, "mean over rows and pairs m < m' of (sum_k |p_m - p_m'|^p)^(1/p); p=1"},
		"average_kl(all_pairs,clip=false)": {Shape{Classes: 3, Members: 2}, "mean over rows and all M^2 pairs, of a member with itself too, of sum_k p_m ln(p_m/p_m'), 0 ln 0 = 0"},
		"oracle_auc(curve=pr)":             {Shape{Classes: 1}, "average precision, at each threshold without the errors of the floor(f N) rows next to it, f the fraction; fraction=0.01"},
		"nwaic1(as_coded)":                 {Shape{Classes: 3, Kind: metrics.LogLiks}, "V the variance of l_m; as_coded"},
		"crps":                             {Shape{Classes: 3, Kind: metrics.Samples}, "mean (sum_j |x_j - y|/M - sum_{j<k} |x_j - x_k|/M^2)"},
	} {
		s := Spec{Classes: c.Classes, Kind: c.Kind, Members: c.Members, Out: c.Out, Metrics: listOf(t, metric, c.Shape)}
		if got := fill(t, s, nil).Text(s.Metrics[0]); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q, want %q", metric, got, c.want)
		}
	}
	// A Brier term says by what it is grouped.
	e := fill(t, Spec{Classes: 1, Metrics: list(t, "brier_resolution,brier_resolution(by=class),brier_resolution(as_coded=um)", 1)}, nil)
	for i, want := range []string{"[{by bins} {bins 15} {as_coded no}]", "[{by class} {bins <nil>} {as_coded no}]", "[{by class} {bins <nil>} {as_coded um}]"} {
		if got := fmt.Sprint(e.Fields(e.Spec.Metrics[i])); got != want {
			t.Errorf("%v: %s, want %s", e.Spec.Metrics[i], got, want)
		}
	}
}

// TestUncheckedMembers holds that the mean of members that are not checked is not either, and that of others says that they were.
func TestUncheckedMembers(t *testing.T) {
	s := Spec{Classes: 3, Members: 2}
	var err error
	if s.Metrics, err = ParseMetrics("default", s.Shape()); err != nil {
		t.Fatal(err)
	}
	for _, unchecked := range []bool{false, true} {
		m := team(1, 40, 3, 2, false)
		if unchecked {
			for i := range m.Each {
				m.Each[i].F64[4] += 0.5
			}
		}
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.AddMembers(ensemble.InMemory(m), &metrics.Options{Unchecked: unchecked}); err != nil || e.Audit.Rows != 40 || e.Audit.Unchecked != unchecked {
			t.Errorf("%v: %+v", err, e.Audit)
		}
	}
}
