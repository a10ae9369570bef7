package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"

	"github.com/candor-go/candor/internal/isa"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

//go:embed asked.py
var askedPy string

// questions are the metrics that are asked for; the last is for candor alone.
var questions = []string{"ece", "accuracy,brier,ece", "default"}

// askedTools are what asked.py knows, in the order of the table.
var askedTools = []string{"Numba", "DuckDB", "Polars"}

// askedRows returns binary scores, uniform in [0,1], with labels that are somewhat too rare.
func askedRows(n int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(1, 2))
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: 1, F32: make([]float32, n)}, Labels: make([]int32, n)}
	for i := range p.F32 {
		p.F32[i] = r.Float32()
		if r.Float32() < .9*p.F32[i] {
			p.Labels[i] = 1
		}
	}
	return p
}

// ask lets candor answer a question.
func ask(p *metrics.Predictions, question string) (s sample, err error) {
	m, err := eval.ParseMetrics(question, eval.Shape{Classes: 1})
	if err != nil {
		return s, err
	}
	start := cpuTime()
	e, err := eval.New(eval.Spec{Classes: 1, Metrics: m, Lean: true})
	if err != nil {
		return s, err
	}
	if err := e.Add(p, &metrics.Options{Threads: 1}); err != nil {
		return s, err
	}
	for _, m := range m {
		v := e.Value(m).Value
		switch m.Name {
		case "ece":
			s.ECE = v
		case "accuracy":
			s.Accuracy = v
		case "brier":
			s.Brier = v
		}
	}
	s.Seconds, s.Workload, s.Tool = (cpuTime() - start).Seconds(), question, "candor"
	return s, nil
}

// compareAsked times candor, Numba, DuckDB and Polars in turns on scores in memory, by what is asked.
func compareAsked(out io.Writer, dir, python string, rows, reps int) error {
	p := askedRows(rows)
	scores, labels := filepath.Join(dir, "asked.npy"), filepath.Join(dir, "asked.labels.npy")
	shape := fmt.Sprintf("(%d,)", rows)
	if err := writeNPY(scores, "<f4", shape, p.F32); err != nil {
		return err
	}
	small := make([]uint8, rows)
	for i, y := range p.Labels {
		small[i] = uint8(y)
	}
	if err := writeNPY(labels, "|u1", shape, small); err != nil {
		return err
	}
	c := exec.Command(python, "-c", askedPy, scores, labels)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	pipe, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer func() {
		in.Close()
		_ = c.Wait()
	}()
	lines := bufio.NewScanner(pipe)
	read := func(v any) error {
		if !lines.Scan() {
			return errors.New("asked.py ended early")
		}
		return json.Unmarshal(lines.Bytes(), v)
	}
	var head struct{ Absent, Versions map[string]string }
	if err := read(&head); err != nil {
		return err
	}
	best := map[[2]string]float64{}
	for range reps {
		for _, q := range questions {
			ours, err := ask(p, q)
			if err != nil {
				return err
			}
			all := []sample{ours}
			for _, tool := range askedTools {
				if _, absent := head.Absent[tool]; absent || q == "default" {
					continue
				}
				fmt.Fprintf(in, "%s\t%s\n", tool, q)
				var s sample
				if err := read(&s); err != nil {
					return err
				}
				if d := math.Max(math.Abs(s.ECE-ours.ECE), math.Max(math.Abs(s.Accuracy-ours.Accuracy), math.Abs(s.Brier-ours.Brier))); !(d < 1e-9) {
					return fmt.Errorf("%s answers %s with %+v, candor with %+v", tool, q, s.answers, ours.answers)
				}
				all = append(all, s)
			}
			for _, s := range all {
				at := [2]string{q, s.Tool}
				if b, ok := best[at]; !ok || s.Seconds < b {
					best[at] = s.Seconds
				}
			}
		}
	}
	fmt.Fprintf(out, "CPU seconds of one thread, %d binary float32 scores in memory, level %v, the least of %d; Numba %s, DuckDB %s, Polars %s\n", rows, isa.Info().Current, reps,
		head.Versions["Numba"], head.Versions["DuckDB"], head.Versions["Polars"])
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "asked\tcandor")
	for _, tool := range askedTools {
		fmt.Fprint(t, "\t", tool)
	}
	fmt.Fprintln(t)
	for _, q := range questions {
		fmt.Fprintf(t, "%s\t%.3f", q, best[[2]string{q, "candor"}])
		for _, tool := range askedTools {
			if s, ok := best[[2]string{q, tool}]; ok {
				fmt.Fprintf(t, "\t%.3f", s)
			} else {
				fmt.Fprint(t, "\t-")
			}
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
