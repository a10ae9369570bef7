//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

const aboutMany = `More than 2^31 rows, so that no count of rows or of bytes may be a number of 32 bits: on this system and, in the whole campaign, built for
386, whose *int* has 32 bits. A block of rows is read again and again. Nearly all its rows are of one kind, so that their number alone exceeds 2^31.
Exact values and errors are as above.`

// crowd is a kind of rows of which there are many.
type crowd struct {
	name    string
	classes int
	single  bool
	bounds  map[string]float64 // what the kernels promise; 1e-12 for other metrics
	always  bool               // in a tenth of the campaign too, where only this system's build runs
}

var crowds = []crowd{
	{"binary, float32", 1, true, map[string]float64{"nll": 1.2e-7}, true},
	{"binary, float64", 1, false, nil, false},
	// The Brier score has the squares of a row, of which a sum is rounded.
	{"3 classes, float32", 3, true, map[string]float64{"nll": 1.2e-7, "brier": 2e-6}, false},
}

// crowdBlocks times chunkRows is the number of rows: 2^31 and 2^24.
const crowdBlocks = (1<<31 + 1<<24) / chunkRows

// block draws a block of rows. All but a few are of the first kind and its most likely label.
func (k *rowKinds) block(r *rand.Rand, times int64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: k.kind, Labels: make([]int32, chunkRows)}
	p.Rows, p.Classes = chunkRows, k.classes
	for i := range chunkRows {
		kind := 0
		if i < kinds {
			kind = i
			p.Labels[i] = int32(r.IntN(max(2, k.classes)))
		}
		k.counts[kind][p.Labels[i]] += times
		for _, v := range k.scores[kind*k.classes : (kind+1)*k.classes] {
			if k.single {
				p.F32 = append(p.F32, float32(v))
			} else {
				p.F64 = append(p.F64, v)
			}
		}
	}
	return p
}

// again is a source of a block that is read again and again.
type again struct {
	block *metrics.Predictions
	left  int64
	first int64
}

func (s *again) Next() (*metrics.Chunk, error) {
	if s.left == 0 {
		return nil, io.EOF
	}
	c := &metrics.Chunk{Predictions: *s.block, First: s.first}
	s.left--
	s.first += chunkRows
	return c, nil
}

// crowded is the environment variable that makes this program evaluate many rows and print what it finds.
const crowded = "CAMPAIGN_CROWD"

// printCrowd evaluates a crowd and prints a line for each metric, its value and the exact one; then the rows that were counted, and the seconds.
func printCrowd(of *crowd, blocks int64, seed uint64) error {
	k := drawKinds(metrics.Probs, of.classes, of.single, rand.New(rand.NewPCG(seed, 17)))
	block := k.block(rand.New(rand.NewPCG(seed, 19)), blocks)
	names := "nll,brier,ece,accuracy,confidence"
	if of.classes == 1 {
		names = "nll,brier,ece,base_rate,mean_p"
	}
	list, err := eval.ParseMetrics(names, eval.Shape{Classes: of.classes})
	if err != nil {
		return err
	}
	e, err := eval.New(eval.Spec{Classes: of.classes, Metrics: list})
	if err != nil {
		return err
	}
	start := time.Now()
	if err := e.AddSource(&again{block: block, left: blocks}, nil); err != nil {
		return err
	}
	took := time.Since(start)
	want := k.exactAnswers()
	for _, m := range list {
		fmt.Println(m.Name, strconv.FormatFloat(e.Value(m).Value, 'g', -1, 64), strconv.FormatFloat(want[m.Name], 'g', -1, 64))
	}
	fmt.Println("rows", e.Audit.Rows, took.Seconds())
	return nil
}

func tryMany(c *campaign) (*table, error) {
	t := &table{head: []string{"built for", "rows", "scores", "metric", "exact", "error", "bound", "seconds"}}
	for _, arch := range []string{runtime.GOARCH, "386"} {
		program := filepath.Join(c.dir, arch)
		build := exec.Command("go", "build", "-o", program, "github.com/candor-go/candor/internal/campaign")
		build.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
		if b, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build for %s: %v\n%s", arch, err, b)
		}
		for i := range crowds {
			if !c.full && (!crowds[i].always || arch != runtime.GOARCH) {
				continue
			}
			run := exec.Command(program)
			run.Env = append(os.Environ(), crowded+"="+strconv.Itoa(i)+" "+strconv.FormatUint(c.seed, 10))
			var stderr bytes.Buffer
			run.Stderr = &stderr
			b, err := run.Output()
			if err != nil && runtime.GOARCH != "amd64" {
				break // a CPU that does not run 386
			}
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %v: %s", crowds[i].name, arch, err, stderr.Bytes())
			}
			if err := c.crowd(t, arch, &crowds[i], crowdBlocks*chunkRows, string(b)); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// crowd reads what printCrowd has printed.
func (c *campaign) crowd(t *table, arch string, of *crowd, rows int64, printed string) error {
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	var counted int64
	var seconds float64
	if _, err := fmt.Sscanf(lines[len(lines)-1], "rows %d %g", &counted, &seconds); err != nil {
		return fmt.Errorf("%q: %w", printed, err)
	}
	c.tried(rows)
	if counted != rows {
		c.fault("%s, %s: %d rows are counted, and there are %d", arch, of.name, counted, rows)
	}
	for _, l := range lines[:len(lines)-1] {
		var name string
		var got, exact float64
		if _, err := fmt.Sscan(l, &name, &got, &exact); err != nil {
			return fmt.Errorf("%q: %w", l, err)
		}
		bound := 1e-12
		if b, ok := of.bounds[name]; ok {
			bound = b
		}
		off := math.Abs(got-exact) / max(1, math.Abs(exact))
		t.add(arch, thousands(rows), of.name, "`"+name+"`", fmt.Sprintf("%.10g", exact), fmt.Sprintf("%.1g", off), fmt.Sprint(bound), fmt.Sprintf("%.0f", seconds))
		if !(off <= bound) {
			c.fault("%s, %s, %s: %v, and exactly %v", arch, of.name, name, got, exact)
		}
	}
	return nil
}
