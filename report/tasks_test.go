package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/eval"
)

// evaluation returns an evaluation of a shape, without rows.
func evaluation(t *testing.T, s eval.Shape, list string) *eval.Evaluation {
	t.Helper()
	m, err := eval.ParseMetrics(list, s)
	if err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(eval.Spec{Classes: s.Classes, Kind: s.Kind, Members: s.Members, Out: s.Out, Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// teamOf returns an ensemble of three rows in which each member is a little less confident than the one before.
func teamOf(t *testing.T, members int, list string) *eval.Evaluation {
	t.Helper()
	e := evaluation(t, eval.Shape{Classes: 2, Members: members}, list)
	m := &metrics.Members{Labels: []int32{0, 1, 1}}
	for i := range members {
		p := 0.9 - 0.3*float64(i)/float64(members)
		m.Each = append(m.Each, metrics.Scores{F64: []float64{p, 1 - p, 1 - p, p, p, 1 - p}, Rows: 3, Classes: 2})
	}
	if err := e.AddMembers(ensemble.InMemory(m), nil); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestMembersTable(t *testing.T) {
	for _, c := range []struct {
		members, plain int // rows of the table on a terminal
	}{{1, 2}, {2, 3}, {20, 21}, {21, 14}, {150, 14}} {
		d := New(teamOf(t, c.members, "default"))
		var plain, markdown bytes.Buffer
		if err := d.MembersTable(&plain, Plain, 0); err != nil {
			t.Fatal(err)
		}
		if err := d.MembersTable(&markdown, Markdown, 0); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(plain.String(), "\n"), "\n")
		if len(lines) != c.plain+1 || strings.Join(strings.Fields(lines[0]), " ") != "Model accuracy nll brier ece" || !strings.HasPrefix(lines[1], " ensemble ") {
			t.Errorf("%d members, %d lines:\n%s", c.members, len(lines), plain.String())
		}
		columns(t, fmt.Sprint(c.members, " members"), plain.String(), 60)
		// Other formats have all rows.
		if n := strings.Count(markdown.String(), "\n"); n != c.members+3 || !strings.Contains(markdown.String(), fmt.Sprintf("| member %d |", c.members-1)) {
			t.Errorf("%d members, %d lines:\n%s", c.members, n, markdown.String())
		}
		if few := c.members <= 20; strings.Contains(plain.String(), "least of all") == few || strings.Contains(plain.String(), fmt.Sprintf(" member %d ", c.members-1)) != few {
			t.Errorf("%d members:\n%s", c.members, plain.String())
		}
		if strings.Contains(markdown.String(), "of all") {
			t.Errorf("%d members:\n%s", c.members, markdown.String())
		}
	}
	// The range covers all members, also those not listed.
	d := New(teamOf(t, 30, "default"))
	var b bytes.Buffer
	if err := d.MembersTable(&b, Plain, 0); err != nil {
		t.Fatal(err)
	}
	nll := func(p float64) float64 { return -(2*math.Log(p) + math.Log(1-p)) / 3 }
	sum := 0.0
	for i := range 30 {
		sum += nll(0.9 - 0.01*float64(i))
	}
	for name, want := range map[string]float64{"least of all": nll(0.67), "mean of all": sum / 30, "most of all": nll(0.9)} {
		_, rest, _ := strings.Cut(b.String(), name)
		f := strings.Fields(rest)
		if f[0] != "0.66667" || f[1] != short(want) {
			t.Errorf("%s: accuracy %s, nll %s, want %s:\n%s", name, f[0], f[1], short(want), b.String())
		}
	}
	// An undefined value of the ensemble is an empty field.
	b.Reset()
	if err := New(teamOf(t, 2, "accuracy,gibbs_nll")).MembersTable(&b, Plain, 0); err != nil {
		t.Fatal(err)
	}
	if f := strings.Fields(strings.Split(b.String(), "\n")[1]); len(f) != 2 || f[0] != "ensemble" {
		t.Errorf("%q", f)
	}
}

// TestTaskDocuments: documents of predictions other than classes of one model.
func TestTaskDocuments(t *testing.T) {
	numbers := func(k metrics.Kind) *eval.Evaluation {
		e := evaluation(t, eval.Shape{Classes: 3, Kind: k}, "default")
		p := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{-1, -1.5, -2, -0.5, -1, -1}, Rows: 2, Classes: 3}, Kind: k}
		if k == metrics.Samples {
			p.Observed = []float64{-1, -2}
		}
		if err := e.AddSource(&source{p}, nil); err != nil {
			t.Fatal(err)
		}
		return e
	}
	rows := func() *metrics.Predictions {
		return &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5, 0.5, 0.25, 0.75}, Rows: 2, Classes: 2}, Labels: []int32{0, 1}}
	}
	away := evaluation(t, eval.Shape{Classes: 2, Out: true}, "default,ood_auroc(score=energy)")
	if err := away.AddSource(&source{rows()}, nil); err != nil {
		t.Fatal(err)
	}
	foreign := rows()
	foreign.F64[2], foreign.F64[3] = 0.25, 0.7500001
	if err := away.AddOut(&source{foreign}, nil); err != nil {
		t.Fatal(err)
	}
	parameters := evaluation(t, eval.Shape{Classes: 2, Kind: metrics.Dirichlet}, "default")
	p := rows()
	p.Kind = metrics.Dirichlet
	if err := parameters.AddSource(&source{p}, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		e       *eval.Evaluation
		verdict string // its start
		input   string
		has     string // further fields of the document
	}{
		{"samples", numbers(metrics.Samples), "2 rows x 3 samples. Off by 0.",
			`{"rows":2,"draws":3,"dtype":"float64","kind":"samples","dropped":0,"binary":false,"weighted":false,"task":"samples"}`, ""},
		{"log-likelihoods", numbers(metrics.LogLiks), "2 rows x 3 draws. The log-likelihood of a new row is about -1.",
			`{"rows":2,"draws":3,"dtype":"float64","kind":"loglik","dropped":0,"binary":false,"weighted":false,"task":"loglik"}`, ""},
		{"ensemble", teamOf(t, 2, "default"), "3 rows x 2 classes, 2 members: 66.7% correct ",
			`{"rows":3,"classes":2,"dtype":"float64","kind":"probs","dropped":0,"binary":false,"weighted":false,"task":"ensemble","members":2}`, "bins bins_text members judgement equal_mass risk_coverage audit"},
		{"out of distribution", away, "2 rows x 2 classes: 100.0% correct ",
			`{"rows":2,"classes":2,"dtype":"float64","kind":"probs","dropped":0,"binary":false,"weighted":false,"task":"classification","out_of_distribution":2}`, "bins bins_text judgement equal_mass risk_coverage audit"},
		{"parameters", parameters, "2 rows x 2 classes: 100.0% correct ",
			`{"rows":2,"classes":2,"dtype":"float64","kind":"dirichlet","dropped":0,"binary":false,"weighted":false,"task":"classification"}`, "bins bins_text judgement equal_mass risk_coverage audit"},
		{"no samples", evaluation(t, eval.Shape{Classes: 3, Kind: metrics.Samples}, "default"), "0 rows x 3 samples: nothing to judge.", "", ""},
		{"no log-likelihoods", evaluation(t, eval.Shape{Classes: 3, Kind: metrics.LogLiks}, "all"), "0 rows x 3 draws: nothing to judge.", "", ""},
		{"no members", evaluation(t, eval.Shape{Classes: 3, Members: 2}, "all"), "0 rows x 3 classes, 2 members: nothing to judge.", "", "bins bins_text members judgement audit"},
	} {
		d := New(c.e)
		b, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(d.Verdict(), c.verdict) || !strings.HasSuffix(d.Verdict(), ".") {
			t.Errorf("%s: %s", c.name, d.Verdict())
		}
		var in bytes.Buffer
		if err := json.Compact(&in, doc["input"]); err != nil {
			t.Fatal(err)
		}
		if c.input != "" && in.String() != c.input {
			t.Errorf("%s: %s, want %s", c.name, in.String(), c.input)
		}
		want := strings.Fields("schema input verdict metrics state warnings " + c.has)
		if len(doc) != len(want) {
			t.Errorf("%s has %d fields:\n%s", c.name, len(doc), b)
		}
		for _, k := range want {
			if doc[k] == nil {
				t.Errorf("%s has no %s", c.name, k)
			}
		}
		// A state gives the same document.
		state, err := c.e.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		var e eval.Evaluation
		if err := e.UnmarshalBinary(state); err != nil {
			t.Fatal(err)
		}
		if again, err := New(&e).JSON(); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: of its state it is another document: %v", c.name, err)
		}
		for _, f := range []Format{Plain, Markdown, CSV} {
			var out bytes.Buffer
			if err := d.Table(&out, f, 80); err != nil || strings.Contains(out.String(), "NaN") {
				t.Errorf("%s: %v\n%s", c.name, err, out.String())
			}
			for _, m := range d.Metrics {
				if !strings.Contains(out.String(), m.Name) {
					t.Errorf("%s: the table has no %s", c.name, m.Name)
				}
			}
		}
	}
	if got := New(away).Undefined(); len(got) != 2 || !strings.HasPrefix(got[1], "there is no ood_auroc(score=energy): ") || !strings.Contains(got[1], "logits") {
		t.Errorf("%q", got)
	}
}
