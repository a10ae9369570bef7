package eval

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

func golden(t *testing.T, name string, v any) {
	t.Helper()
	f, err := os.Open(filepath.Join("../../testdata/golden", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.NewDecoder(r).Decode(v); err != nil {
		t.Fatal(err)
	}
}

// TestLikeUM holds the metrics that a Spec in the way of uncertainty_metrics has against its own answers with its defaults.
func TestLikeUM(t *testing.T) {
	var in struct {
		Inputs map[string]struct {
			Probs  json.RawMessage
			Labels []int32
		}
	}
	golden(t, "gce_small.json.gz", &in)
	base, err := calib.Like("um")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]float64{}
	for _, name := range []string{"gce_detail.json.gz", "gce_adaptive.json.gz", "gce_aliases.json"} {
		var g struct{ Aliases []map[string]any }
		golden(t, name, &g)
		for _, a := range g.Aliases {
			i := a["input"].(string)
			if want[i] == nil {
				want[i] = map[string]float64{}
			}
			for k, v := range a {
				if metric, ok := strings.CutSuffix(k, "_default"); ok && v != nil {
					want[i][metric] = v.(float64)
				}
			}
		}
	}
	held := 0
	for name, x := range in.Inputs {
		p := &metrics.Predictions{Labels: x.Labels}
		var two [][]float64
		if json.Unmarshal(x.Probs, &two) != nil {
			var one []float64
			if err := json.Unmarshal(x.Probs, &one); err != nil {
				t.Fatal(err)
			}
			two = nil
			for _, v := range one { // as uncertainty_metrics reads them
				two = append(two, []float64{1 - v, v})
			}
		}
		for _, r := range two {
			p.F64 = append(p.F64, r...)
		}
		p.Rows, p.Classes = len(two), len(two[0])
		s := Spec{Classes: p.Classes, Base: base, Brier: score.BrierMinusOne, UM: true, Metrics: list(t, "ece,rmsce,sce,ace,tace", p.Classes)}
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.AddSource(&source{p: p}, nil); err != nil {
			continue // rows that are no probabilities
		}
		held++
		for _, m := range s.Metrics {
			v, w := e.Value(m), want[name][m.Name]
			if v.Value != v.Value && w == 0 {
				continue // of nothing uncertainty_metrics says 0
			}
			if !(math.Abs(v.Value-w) <= 1e-12) {
				t.Errorf("%s of %s: %v, want %v (%s)", m, name, v.Value, w, e.Text(m))
			}
		}
	}
	if held < 12 {
		t.Errorf("only %d inputs were evaluated", held)
	}
}

// TestLikeUMIsOptions: what the way of uncertainty_metrics changes can be asked for by options, and options go before it.
func TestLikeUMIsOptions(t *testing.T) {
	p := predictions(4, 300, 3, false)
	base, err := calib.Like("um")
	if err != nil {
		t.Fatal(err)
	}
	pairs := [][2]string{{"sce", "sce(bins=30,one=overflow,threshold=0)"}, {"ace", "ace(bins=30,threshold=0)"}, {"tace", "tace(bins=30,threshold=0.01)"},
		{"rmsce", "rmsce(adaptive,bins=30)"}, {"rmsce(bins=4)", "rmsce(adaptive,bins=4)"},
		{"sce(closed=right)", "sce(bins=30,closed=right,threshold=0)"}, {"sce(one=last)", "sce(bins=30,one=last,threshold=0)"}}
	for _, c := range pairs {
		value := func(metric string, um bool) (float64, string) {
			s := Spec{Classes: 3, UM: um, Metrics: list(t, metric, 3)}
			if um {
				s.Base = base
			}
			e, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.AddSource(&source{p: p}, nil); err != nil {
				t.Fatal(err)
			}
			return e.Value(s.Metrics[0]).Value, e.Text(s.Metrics[0])
		}
		got, said := value(c[0], true)
		want, text := value(c[1], false)
		if got != want || said != text {
			t.Errorf("%s is %v, %q; %s is %v, %q", c[0], got, said, c[1], want, text)
		}
	}
	for _, m := range []string{"sce(one=first)", "sce(closed=right,one=overflow)", "ace(one=overflow)"} {
		if _, err := ParseMetrics(m, Shape{Classes: 3}); err == nil {
			t.Errorf("%s is a metric", m)
		}
	}
}

// TestBrierSaysMinusOne: where brier is in another form than candor's, the table says so.
func TestBrierSaysMinusOne(t *testing.T) {
	for _, c := range []struct {
		metric string
		form   score.BrierForm
		short  string
		note   bool
	}{
		{"brier", score.BrierDefault, "squared error of p", false}, {"brier", score.BrierMinusOne, "squared error, minus 1", true},
		{"brier(form=minus_one)", score.BrierDefault, "squared error, minus 1", false},
		{"brier(form=default)", score.BrierMinusOne, "squared error of p", false},
	} {
		s := Spec{Classes: 3, Brier: c.form, Metrics: list(t, c.metric, 3)}
		e, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.AddSource(&source{p: predictions(4, 300, 3, false)}, nil); err != nil {
			t.Fatal(err)
		}
		short, _ := e.Meaning(s.Metrics[0])
		if note := e.Value(s.Metrics[0]).Note; short != c.short || (note != "") != c.note {
			t.Errorf("%s, form %d: %q, note %q", c.metric, c.form, short, note)
		}
	}
}
