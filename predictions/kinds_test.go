package predictions

import (
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
)

func TestSamples(t *testing.T) {
	const n = 3000
	number := func(i int) float64 { return float64(i % 101) }
	for i, descr := range []string{"|b1", "|i1", "|u1", "<i2", ">i4", "<i8", ">u8", "<f2", ">f4", "<f8"} {
		for j, shape := range [][]int{{n}, {n, 1}} {
			if testing.Short() && (i+j)%2 > 0 {
				continue
			}
			value := number
			if descr == "|b1" {
				value = func(i int) float64 { return float64(i & 1) }
			}
			obs := npy(1, descr, false, shape, value)
			for _, m := range []int{1, 7} {
				scores := []int{n, m}
				if m == 1 && len(shape) == 1 {
					scores = []int{n}
				}
				x := npy(1, "<f4", m > 1, scores, score)
				o := Options{Kind: metrics.Samples, Observed: []string{save(t, "o.npy", obs)}, BufferBytes: 2000}
				paths := []string{save(t, "x.npy", x)}
				for range 2 {
					got, info, err := readAll(paths, &o)
					if err != nil {
						t.Fatal(descr, shape, err)
					}
					if info.Classes != m || len(got.observed) != n || len(got.scores) != n*m {
						t.Fatalf("%s: %+v, %d observed", descr, info, len(got.observed))
					}
					for i, v := range got.observed {
						if v != value(i) {
							t.Fatalf("%s: observed %d is %v, want %v", descr, i, v, value(i))
						}
					}
					for i, v := range got.scores {
						if v != score(i) {
							t.Fatalf("%s: sample %d is %v, want %v", descr, i, v, score(i))
						}
					}
					// The same from one .npz.
					o.Observed = nil
					name := []string{"obs", "observed", "y_true", "targets"}[m%4]
					paths = []string{save(t, "x.npz", npz(true, entry{"samples.npy", x}, entry{name + ".npy", obs}))}
				}
			}
		}
	}
}

func TestSamplesOfShards(t *testing.T) {
	part := func(name string, at, n int) (string, string) {
		value := func(i int) float64 { return float64(at + i) }
		return save(t, name+".npy", npy(1, "<f8", false, []int{n, 1}, value)), save(t, name+"-obs.npy", npy(1, "<i4", false, []int{n}, value))
	}
	x1, o1 := part("p1", 0, 5)
	x2, o2 := part("p2", 5, 4)
	all := save(t, "all.npy", npy(1, "<f4", false, []int{9}, func(i int) float64 { return float64(i) }))
	for _, observed := range [][]string{{o1, o2}, {all}} {
		got, _, err := readAll([]string{x1, x2}, &Options{Kind: metrics.Samples, Observed: observed})
		if err != nil || !slices.Equal(got.observed, got.scores) || len(got.scores) != 9 {
			t.Error(err, got.observed, got.scores)
		}
	}
}

func TestLogLiksAndNoLabels(t *testing.T) {
	x := save(t, "x.npy", npy(1, "<f4", false, []int{9, 3}, score))
	labelled := save(t, "x.npz", npz(false, entry{"log_lik.npy", npy(1, "<f4", false, []int{9, 3}, score)},
		entry{"y.npy", npy(1, "<i4", false, []int{9}, label(3))}, entry{"labels.npy", npy(1, "<i4", false, []int{9}, label(3))},
		entry{"weights.npy", npy(1, "<f4", false, []int{9}, ones)}))
	for _, c := range []struct {
		path string
		o    Options
	}{{x, Options{Kind: metrics.LogLiks}}, {labelled, Options{Kind: metrics.LogLiks}}, {x, Options{Kind: metrics.LogLiks, NoLabels: true}},
		{x, Options{NoLabels: true}}, {x, Options{NoLabels: true, Kind: metrics.Dirichlet}}, {labelled + ":log_lik", Options{NoLabels: true, Kind: metrics.Logits}}} {
		c.o.BufferBytes = 48
		got, info, err := readAll([]string{c.path}, &c.o)
		if err != nil || len(got.scores) != 27 || got.scores[26] != score(26) || got.observed != nil || info.Weighted != (c.path != x) {
			t.Errorf("%s: %v, %v", c.path, got, err)
		}
		if c.o.Kind == metrics.LogLiks && got.labels != nil || c.o.Kind != metrics.LogLiks && !slices.Equal(got.labels, make([]int32, 9)) {
			t.Errorf("%s: labels %v", c.o.Kind, got.labels)
		}
	}
}

func TestDirichlet(t *testing.T) {
	got, _, err := readAll([]string{save(t, "x.npz", npz(false, entry{"alpha.npy", npy(1, "<f4", false, []int{9, 3}, score)},
		entry{"y.npy", npy(1, "<i4", false, []int{9}, label(3))}))}, &Options{Kind: metrics.Dirichlet})
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, got, 9, 3)
}

func TestKindErrors(t *testing.T) {
	x := save(t, "x.npy", npy(1, "<f4", false, []int{9, 3}, score))
	whole := save(t, "whole.npy", npy(1, "<i4", false, []int{9, 3}, ones))
	nine, eight := save(t, "nine.npy", npy(1, "<f4", false, []int{9}, score)), save(t, "eight.npy", npy(1, "<f4", false, []int{8}, score))
	three := save(t, "three.npy", npy(1, "<f4", false, []int{3}, score))
	text := save(t, "text.npy", dict("{'descr': '<U5', 'fortran_order': False, 'shape': (20,), }"))
	box := save(t, "box.npz", npz(false, entry{"samples.npy", npy(1, "<f4", false, []int{9, 3}, score)}, entry{"truth.npy", npy(1, "<f4", false, []int{9}, score)}))
	deep := save(t, "deep.npy", npy(1, "<f4", false, []int{9, 3, 2}, score))
	cut := save(t, "cut.npy", npy(1, "<f4", false, []int{9}, score)[:140])
	name := func(p string) []string { return []string{p} }
	for _, c := range []struct {
		path string
		o    Options
		want []string
	}{
		{x, Options{Kind: metrics.Samples}, []string{"x.npy: no observations; pass Options.Observed obs.npy"}},
		{box, Options{Kind: metrics.Samples}, []string{"box.npz: no observations: it has samples float32 (9, 3), truth float32 (9,); pass Options.Observed obs.npy, "}},
		{x, Options{Kind: metrics.Samples, Labels: name(nine)}, []string{"samples are compared with observed values, not with labels"}},
		{x, Options{Kind: metrics.Samples, Observed: name(nine), NoLabels: true}, []string{"cannot be evaluated without"}},
		{x, Options{Kind: metrics.Samples, Observed: name(nine), Decisions: name(nine)}, []string{"samples have no classes to decide for"}},
		{x, Options{Kind: metrics.Samples, Observed: name(eight)}, []string{"eight.npy: 8 observations for the 9 rows of ", "x.npy; each row needs one"}},
		{x, Options{Kind: metrics.Samples, Observed: name(three)}, []string{"3 observations for the 9 rows", "are the samples transposed? rows are examples, columns draws: save samples.T"}},
		{x, Options{Kind: metrics.Samples, Observed: name(x)}, []string{"observations have shape (9, 3): a vector (N,) is read"}},
		{x, Options{Kind: metrics.Samples, Observed: name(text)}, []string{"text.npy: observations are text"}},
		{x, Options{Kind: metrics.Samples, Observed: name(cut)}, []string{"cut.npy: truncated: header says 9 float32"}},
		{x, Options{Kind: metrics.Samples, Observed: []string{nine, nine}}, []string{"2 files of observations for 1 of samples"}},
		{whole, Options{Kind: metrics.Samples, Observed: name(nine)}, []string{"whole.npy: samples are int32: floating-point numbers are read; save samples.astype"}},
		{deep, Options{Kind: metrics.Samples, Observed: name(nine)}, []string{"deep.npy: samples have 3 axes, shape (9, 3, 2); samples are a vector (N,) or a matrix (N, M)"}},
		{deep, Options{Labels: name(nine)}, []string{"scores have 3 axes, shape (9, 3, 2)", "OpenMembers"}},
		{x, Options{Kind: metrics.LogLiks, Labels: name(nine)}, []string{"log-likelihoods are of the observed outcomes already, and take no labels; leave Labels out"}},
		{x, Options{Kind: metrics.LogLiks, ConfidenceScores: name(nine)}, []string{"log-likelihoods have no classes to decide for"}},
		{whole, Options{Kind: metrics.LogLiks}, []string{"log-likelihoods are int32", "save log_likelihoods.astype"}},
		{x, Options{Observed: name(nine)}, []string{"observed values are for samples and quantiles, and the scores are probs"}},
		{nine, Options{Kind: metrics.Dirichlet, NoLabels: true}, []string{"nine.npy: parameters of a Dirichlet distribution are one for each class, and these have shape (9,)"}},
		{x, Options{NoLabels: true, Labels: name(nine)}, []string{"labels are named, but NoLabels says that there are none"}},
	} {
		_, err := Open([]string{c.path}, &c.o)
		wantError(t, err, c.want...)
	}
	_, err := Open([]string{x, save(t, "y.npy", npy(1, "<f4", false, []int{9, 4}, score))}, &Options{Kind: metrics.LogLiks})
	wantError(t, err, "y.npy: 4 draws (shape (9, 4)), but "+x+" has 3", "shards must agree in draws and type")
}
