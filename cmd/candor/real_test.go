package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/candor-go/candor/predictions"
)

// answer is a metric of a document.
type answer struct {
	Value, Low, High any
	Reason, Text     string
	Method           string
	Exact            bool
	Bound            *float64 `json:"grid_bound"`
}

// document is what a test reads of the JSON.
type document struct {
	Schema  string
	Verdict string
	Input   struct {
		Rows, Dropped int64
		Classes       int
		DType, Kind   string
		Members       int
		Out           int64 `json:"out_of_distribution"`
	}
	Metrics map[string]answer
	Members []map[string]answer
	Bins    []struct {
		Lower, Upper          float64
		Count                 int64
		Confidence, Frequency *float64
	}
	State    struct{ SHA256 string }
	Warnings []string
}

func (d *document) value(t *testing.T, key string) float64 {
	t.Helper()
	m, ok := d.Metrics[key]
	if !ok {
		t.Fatalf("the document has no metric %s", key)
	}
	switch v := m.Value.(type) {
	case float64:
		return v
	case string:
		switch v {
		case "+Inf":
			return math.Inf(1)
		case "-Inf":
			return math.Inf(-1)
		}
	}
	return math.NaN()
}

// bound returns how far a metric may be off, NaN if nothing is known.
func (d *document) bound(key string) float64 {
	switch m := d.Metrics[key]; {
	case m.Exact:
		return 0
	case m.Bound == nil:
		return math.NaN()
	default:
		return *m.Bound
	}
}

// candor runs a command line as a user would.
func candor(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, bytes.NewReader(nil), &out, &errs)
	return code, out.String(), errs.String()
}

// evaluate returns the document of an evaluation that has to succeed.
func evaluate(t *testing.T, args ...string) *document {
	t.Helper()
	code, out, errs := candor(t, append([]string{"eval", "--json"}, args...)...)
	if code != 0 {
		t.Fatalf("candor eval %v: exit code %d: %s", args, code, errs)
	}
	d := new(document)
	if err := json.Unmarshal([]byte(out), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// realSets returns the folder of the real sets. A test may skip without them, for they are not ours to distribute: where CI finds
// them it fails if one skips.
func realSets(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	return dir
}

// TestRealSets holds the command to figures that were computed in float64, by other means, of real predictions. They
// are too large to be here: CANDOR_REAL names the folder that has a folder for each set, with probs.npy, labels.npy and
// meta.json.
func TestRealSets(t *testing.T) {
	dir := realSets(t)
	metas, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		t.Fatalf("no sets in %s: %v", dir, err)
	}
	n := 0
	for _, m := range metas {
		b, err := os.ReadFile(m)
		if err != nil {
			t.Fatal(err)
		}
		// Infinity is no JSON.
		b = bytes.ReplaceAll(b, []byte(": Infinity"), []byte(": 1e999"))
		var meta struct {
			Meta struct {
				Kind  string
				Files map[string][2]any
			}
			Computed map[string]json.RawMessage `json:"computed_float64"`
		}
		if err := json.Unmarshal(b, &meta); err != nil {
			t.Fatalf("%s: %v", m, err)
		}
		if k := meta.Meta.Kind; k != "binary" && k != "multiclass" {
			continue
		}
		n++
		name := filepath.Base(filepath.Dir(m))
		t.Run(name, func(t *testing.T) {
			top := ""
			if meta.Meta.Kind == "binary" {
				top = ",ece_top_label(closed=right)"
			}
			d := evaluate(t, filepath.Join(filepath.Dir(m), "probs.npy"), "--labels", filepath.Join(filepath.Dir(m), "labels.npy"), "--metrics", "all,ece(closed=right),ece(bins=10,closed=right),mce(closed=right)"+top)
			tol := 1e-9
			if d.Input.DType != "float64" {
				tol = 1e-6
			}
			pairs := map[string]string{"acc": "accuracy", "nll": "nll", "brier": "brier", "brier_sum": "brier", "ece15_leftclosed": "ece",
				"ece15": "ece(closed=right)", "ece10": "ece(bins=10,closed=right)", "mce15": "mce(closed=right)", "mean_conf": "confidence", "base_rate": "base_rate", "nll_zero_p": "nll_infinite_rows",
				"nll_inf": "nll_infinite_rows", "ece15_pos_leftclosed": "ece_positive", "ece15_top": "ece_top_label(closed=right)", "ece15_pos": "ece(closed=right)",
				"ece10_pos": "ece(bins=10,closed=right)", "mce15_pos": "mce(closed=right)", "auc": "auroc"}
			compared := 0
			for key, num := range meta.Computed {
				mine, ok := pairs[key]
				if !ok {
					continue
				}
				want, err := strconv.ParseFloat(string(num), 64)
				if err != nil && !math.IsInf(want, 1) {
					t.Fatal(err)
				}
				got := d.value(t, mine)
				if halves := halvesOf(t, filepath.Dir(m), meta.Meta.Kind == "binary"); halves != 0 && (key == "acc" || key == "ece15_top") {
					// There a row of exactly 1/2 is of class 1, here of class 0, the first of equals.
					if key == "acc" && math.Abs(got-want-halves) > tol {
						t.Errorf("accuracy is %v, of %v by another rule and %v more rows right", got, want, halves)
					}
					continue
				}
				if got != want && !(math.Abs(got-want) <= tol) {
					t.Errorf("%s = %v, meta.json has %s = %v", mine, got, key, want)
				}
				compared++
			}
			if compared < 6 {
				t.Errorf("only %d figures were compared", compared)
			}
			t.Log(d.Verdict)
		})
	}
	if n < 9 {
		t.Errorf("only %d sets", n)
	}
}

// TestPublished holds the command to figures that papers and other programs print of such sets.
func TestPublished(t *testing.T) {
	dir := realSets(t)
	b, err := os.ReadFile(filepath.Join(dir, "published.json"))
	if err != nil {
		t.Fatal(err)
	}
	var figures []struct {
		Dataset, Metric, Published, Source string
		Computed, Tol                      float64
	}
	if err := json.Unmarshal(b, &figures); err != nil {
		t.Fatal(err)
	}
	documents, compared := map[string]*document{}, 0
	for _, f := range figures {
		if m := f.Metric; m != "brier" && m != "corp_mcb" && m != "corp_dsc" && m != "corp_unc" {
			continue // another task's
		}
		d := documents[f.Dataset]
		if d == nil {
			set := filepath.Join(dir, f.Dataset)
			d = evaluate(t, filepath.Join(set, "probs.npy"), "--labels", filepath.Join(set, "labels.npy"), "--metrics", "brier,corp_mcb,corp_dsc,corp_unc")
			documents[f.Dataset] = d
		}
		published, err := strconv.ParseFloat(f.Published, 64)
		if err != nil {
			t.Fatal(err)
		}
		got := d.value(t, f.Metric)
		if !(math.Abs(got-published) <= f.Tol) || !(math.Abs(got-f.Computed) <= 1e-12) {
			t.Errorf("%s of %s is %v; published as %s (%s), computed otherwise as %v", f.Metric, f.Dataset, got, f.Published, f.Source, f.Computed)
		}
		compared++
	}
	if compared < 14 {
		t.Errorf("only %d figures were compared", compared)
	}
}

// halvesOf returns the share of the rows with p = 1/2 and class 0, less that of those of class 1; 0 of what is no binary task.
func halvesOf(t *testing.T, dir string, binary bool) float64 {
	t.Helper()
	if !binary {
		return 0
	}
	r, err := predictions.Open([]string{filepath.Join(dir, "probs.npy")}, &predictions.Options{Labels: []string{filepath.Join(dir, "labels.npy")}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sum, rows, row := 0.0, 0.0, make([]float64, 1)
	for {
		c, err := r.Next()
		if err == io.EOF {
			return sum / rows
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, y := range c.Labels {
			if c.Widen(row, i, i+1); row[0] == 0.5 {
				sum += float64(1 - 2*y)
			}
		}
		rows += float64(c.Rows)
		c.Recycle()
	}
}
