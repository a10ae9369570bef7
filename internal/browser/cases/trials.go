package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/candor-go/candor/predictions"
)

// A trial is files that are chosen in the page, and what must come of it.
type trial struct {
	Name    string            `json:"name"`
	Files   []string          `json:"files"`
	Fields  map[string]string `json:"fields,omitempty"` // what is chosen in the page, by the names of its fields
	Add     string            `json:"add,omitempty"`    // to the command that the page proposes
	Command string            `json:"command"`          // that this gives
	JSON    string            `json:"json,omitempty"`   // the files of what the command prints
	Text    string            `json:"text,omitempty"`
	HTML    string            `json:"html,omitempty"`
	Error   string            `json:"error,omitempty"` // what it says in place of that
	Large   bool              `json:"large,omitempty"` // it takes a while
	Look    bool              `json:"look,omitempty"`  // the page is checked when it shows this

	args []string // the command's
}

func makeTrials(candor, folder string) {
	check(os.MkdirAll(folder, 0o777))
	s := &set{candor, folder, rand.New(rand.NewPCG(24, 24))}
	const n, k = 20_000, 10
	p, l := s.classes(n, k, 1.4)
	s.npy("probs.npy", p, n, k)
	s.npy("labels.npy", l, n)
	s.npy("short.npy", l[:n-1], n-1)

	logits := make([]float32, len(p))
	for i, v := range p {
		logits[i] = float32(math.Log(float64(v)))
	}
	for name, method := range map[string]uint16{"stored.npz": zip.Store, "packed.npz": zip.Deflate} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		member := func(name string, data any, shape ...int64) {
			w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
			check(err)
			check(predictions.WriteNPY(w, shape, data))
		}
		member("logits.npy", logits, n, k)
		member("labels.npy", l, n)
		check(z.Close())
		check(os.WriteFile(s.path(name), b.Bytes(), 0o666))
	}

	// Classes by name, one of them with everything that needs quotes.
	classes := []string{"cat", "dog", `it's "a, b"`}
	q, y := s.classes(4000, len(classes), 1.5)
	columns := []predictions.Column{{Name: "label", Type: predictions.TextColumn}}
	for _, c := range prefixed("p_", classes) {
		columns = append(columns, predictions.Column{Name: c, Type: predictions.Float32Column})
	}
	for _, name := range []string{"table.csv", "table.parquet"} {
		f, ok := predictions.TableFormatOf(name)
		if !ok {
			log.Fatalf("%s is no table", name)
		}
		w, err := os.Create(s.path(name))
		check(err)
		t, err := predictions.NewTableWriter(w, f, columns)
		check(err)
		var labels predictions.Cells
		for _, c := range y {
			labels.Bytes = append(labels.Bytes, classes[c]...)
			labels.Ends = append(labels.Ends, len(labels.Bytes))
		}
		cells := []predictions.Cells{labels}
		for j := range classes {
			v := make([]float32, len(y))
			for i := range v {
				v[i] = q[i*len(classes)+j]
			}
			cells = append(cells, predictions.Cells{Float32: v})
		}
		check(t.Write(len(y), cells))
		check(t.Close())
		check(w.Close())
	}

	odd := [][]string{{"it's, a", `the "label"`, "z"}}
	events, came := s.binary(1000, 1.2)
	for i, v := range events {
		odd = append(odd, []string{text(float64(v)), fmt.Sprint(came[i]), "0.5"})
	}
	s.csv("odd.csv", odd)

	rows := [][]string{{"mean", "sd", "observed"}}
	for range 2000 {
		m, sd := 10*s.r.NormFloat64(), math.Exp(s.r.NormFloat64()/2)
		rows = append(rows, []string{text(m), text(sd), text(m + 1.3*sd*s.r.NormFloat64())})
	}
	s.csv("-forecasts.csv", rows)

	const many, wide = 52_000, 1000 // 208 MB
	large, truth := s.classes(many, wide, 1)
	s.npy("large.npy", large, many, wide)
	s.npy("large_labels.npy", truth, many)

	trials := []trial{
		{Name: "npy", Files: []string{"probs.npy", "labels.npy"}, args: []string{"probs.npy", "--labels", "labels.npy"}},
		{Name: "npz, stored", Files: []string{"stored.npz"}, Fields: map[string]string{"labels": ""}, args: []string{"stored.npz", "--input", "logits"}},
		{Name: "npz, packed", Files: []string{"packed.npz"}, Fields: map[string]string{"predictions": "packed.npz:logits", "labels": "packed.npz:labels"},
			args: []string{"packed.npz:logits", "--labels", "packed.npz:labels", "--input", "logits"}},
		{Name: "csv", Files: []string{"table.csv"}, Look: true, args: []string{"table.csv", "--prob-prefix", "p_", "--labels", "label"}},
		{Name: "parquet", Files: []string{"table.parquet"}, Fields: map[string]string{"group": "label"}, args: []string{"table.parquet", "--prob-prefix", "p_", "--labels", "label", "--group", "label"}},
		{Name: "names with quotes", Files: []string{"odd.csv"}, Fields: map[string]string{"label": "the \"label\"", "prob": "it's, a"}, args: []string{"odd.csv", "--prob", `"it's, a"`, "--labels", `"the ""label"""`},
			Command: `candor eval odd.csv --prob '"it'\''s, a"' --labels '"the ""label"""'`},
		{Name: "forecasts", Files: []string{"-forecasts.csv"}, args: []string{"./-forecasts.csv", "--task", "regression"}},
		{Name: "more options", Files: []string{"labels.npy", "probs.npy"}, Add: "--bins 7 --metrics 'ece,brier' --state all.state", args: []string{"probs.npy", "--labels", "labels.npy", "--bins", "7", "--metrics", "ece,brier", "--state", "all.state"}},
		{Name: "bad labels", Files: []string{"probs.npy", "short.npy"}, Look: true, args: []string{"probs.npy", "--labels", "short.npy"}},
		{Name: "bad option", Files: []string{"probs.npy", "labels.npy"}, Add: "--bins none", args: []string{"probs.npy", "--labels", "labels.npy", "--bins", "none"}},
		{Name: "large", Files: []string{"large.npy", "large_labels.npy"}, Large: true, args: []string{"large.npy", "--labels", "large_labels.npy"}},
	}
	for i := range trials {
		t := &trials[i]
		if t.Command == "" {
			t.Command = "candor eval " + strings.Join(t.args, " ")
		}
		if t.Add != "" {
			t.Command = "candor eval " + strings.Join(t.args[:len(t.args)-len(strings.Fields(t.Add))], " ") + " " + t.Add
		}
		t.HTML = fmt.Sprintf("%d.html", i)
		document, why := run(candor, folder, append(t.args[:len(t.args):len(t.args)], "--json", "--html", t.HTML))
		if why != "" {
			var e struct{ Error struct{ Message string } }
			check(json.Unmarshal([]byte(why), &e))
			t.Error, t.HTML = e.Error.Message, ""
			continue
		}
		table, why := run(candor, folder, t.args)
		if why != "" {
			log.Fatalf("%s: %s", t.Name, why)
		}
		t.JSON, t.Text = fmt.Sprintf("%d.json", i), fmt.Sprintf("%d.txt", i)
		check(os.WriteFile(s.path(t.JSON), []byte(document), 0o666))
		check(os.WriteFile(s.path(t.Text), []byte(table), 0o666))
	}
	save(filepath.Join(folder, "trials.json"), trials)
}

// run evaluates, and returns what is printed, or what is said if it fails.
func run(candor, folder string, args []string) (out, why string) {
	c := exec.Command(candor, append([]string{"eval"}, args...)...)
	c.Dir = folder
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return "", stderr.String()
	}
	return stdout.String(), ""
}
