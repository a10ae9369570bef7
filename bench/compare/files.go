package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
)

//go:embed files.py
var filesPy string

// A dataFile is what is read in one go.
type dataFile struct {
	name   string
	labels string   // a second file
	flags  []string // of candor eval
	scores []string // columns
	prefix string   // of columns
	same   bool     // it has the values of the .npy
}

var dataFiles = []dataFile{
	{name: "binary.csv", flags: []string{"--prob", "p", "--label", "y"}, scores: []string{"p"}},
	{name: "binary.parquet", flags: []string{"--prob", "p", "--label", "y"}, scores: []string{"p"}},
	{name: "classes.parquet", flags: []string{"--prob-prefix", "p", "--label", "y"}, prefix: "p", same: true},
	{name: "plain.parquet", flags: []string{"--prob-prefix", "p", "--label", "y"}, prefix: "p", same: true},
	{name: "classes.jsonl", flags: []string{"--prob", "probs", "--label", "y"}, scores: []string{"probs"}},
	{name: "columns.arrow", flags: []string{"--prob-prefix", "p", "--label", "y"}, prefix: "p", same: true},
	{name: "columns.arrows", flags: []string{"--prob-prefix", "p", "--label", "y"}, prefix: "p", same: true},
	{name: "list.arrow", flags: []string{"--prob", "probs", "--label", "y"}, scores: []string{"probs"}, same: true},
	{name: "classes.safetensors", flags: []string{"--prob", "probs", "--label", "y"}, scores: []string{"probs"}, same: true},
	{name: "classes.npy", labels: "classes.labels.npy", same: true},
}

// paths returns the files in a folder.
func (d *dataFile) paths(dir string) []string {
	p := []string{filepath.Join(dir, d.name)}
	if d.labels != "" {
		p = append(p, filepath.Join(dir, d.labels))
	}
	return p
}

// evaluate runs the command, as users have it: start-up, default intervals and the document included.
func (d *dataFile) evaluate(command, dir string, threads int) (s sample, err error) {
	paths := d.paths(dir)
	args := []string{"eval", paths[0], "--metrics", "nll,brier,ece", "--json", "--threads", fmt.Sprint(threads)}
	if d.labels != "" {
		args = append(args, "--labels", paths[1])
	}
	cmd := exec.Command(command, append(args, d.flags...)...)
	cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", threads))
	var out, bad bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &bad
	start := time.Now()
	err = cmd.Run()
	wall := time.Since(start)
	if err != nil {
		return s, fmt.Errorf("%s: %w\n%s", cmd, err, &bad)
	}
	var doc struct {
		Metrics map[string]struct{ Value float64 }
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		return s, fmt.Errorf("%s: %w", cmd, err)
	}
	s = sample{Workload: d.name, Tool: "candor", Seconds: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), Wall: wall.Seconds()}
	s.NLL, s.Brier, s.ECE = doc.Metrics["nll"].Value, doc.Metrics["brier"].Value, doc.Metrics["ece"].Value
	return s, nil
}

// read times the reader alone, in this process.
func (d *dataFile) read(dir string) (s sample, err error) {
	paths := d.paths(dir)
	start, wall := cpuTime(), time.Now()
	var r interface {
		metrics.Source
		io.Closer
	}
	if d.labels != "" {
		r, err = predictions.Open(paths[:1], &predictions.Options{Labels: paths[1:]})
	} else {
		o := &predictions.TableOptions{}
		o.Columns.Scores, o.Columns.Label = d.scores, "y"
		if d.prefix != "" {
			o.Columns.Prefix = &d.prefix
		}
		r, err = predictions.OpenTable(paths, o)
	}
	if err != nil {
		return s, err
	}
	defer r.Close()
	for {
		c, err := r.Next()
		if err == io.EOF {
			return sample{Workload: d.name, Tool: "reader", Seconds: (cpuTime() - start).Seconds(), Wall: time.Since(wall).Seconds()}, nil
		}
		if err != nil {
			return s, err
		}
		c.Recycle()
	}
}

// loop times a loop that reads the bytes of the files and does nothing with them, through memory that stays in the second-level cache.
func (d *dataFile) loop(dir string) (s sample, err error) {
	b := make([]byte, 256<<10)
	start, wall := cpuTime(), time.Now()
	for _, path := range d.paths(dir) {
		f, err := os.Open(path)
		if err != nil {
			return s, err
		}
		for err == nil {
			_, err = f.Read(b)
		}
		f.Close()
		if err != io.EOF {
			return s, err
		}
	}
	return sample{Workload: d.name, Tool: "read loop", Seconds: (cpuTime() - start).Seconds(), Wall: time.Since(wall).Seconds()}, nil
}

// A fileResult has the best of all repetitions.
type fileResult struct {
	file         *dataFile
	bytes        int64
	tools        []sample // candor's first
	reader, loop sample
	alone, two   float64 // wall seconds of candor with one thread and with two
}

// keepBest keeps the least processor time and the least wall time of the repetitions.
func keepBest(best *sample, s sample, first bool) {
	if first {
		*best = s
		return
	}
	wall := min(best.Wall, s.Wall)
	if s.Seconds < best.Seconds {
		*best = s
	}
	best.Wall = wall
}

// errNoPyArrow: without it there are no files.
var errNoPyArrow = errors.New("numpy and pyarrow, which write the files, cannot be imported")

// compareFiles makes the files and measures all tools on them, in turns.
func compareFiles(out io.Writer, dir, python string, match *regexp.Regexp, rows, reps int) (err error) {
	path, tried := pythonWith(python, "numpy, pyarrow")
	if path == "" {
		return fmt.Errorf("%w by %s; name one by -python", errNoPyArrow, tried)
	}
	command, err := buildCommand(dir)
	if err != nil {
		return err
	}
	version, err := exec.Command(command, "version", "--cpu").Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(version)) {
		if !strings.HasPrefix(line, "features") {
			fmt.Fprint(out, line)
		}
	}
	if b, err := exec.Command(path, "-c", filesPy, dir, "--make", fmt.Sprint(rows)).CombinedOutput(); err != nil {
		return fmt.Errorf("files.py: %w\n%s", err, b)
	}
	peers, err := serve("files.py", path, filesPy, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peers.close()) }()
	peers.describe(out, "numpy", "pyarrow", "polars", "duckdb", "safetensors")

	var results []fileResult
	var all []sample
	for i := range dataFiles {
		d := &dataFiles[i]
		if !match.MatchString(d.name) {
			continue
		}
		r := fileResult{file: d}
		for _, p := range d.paths(dir) {
			fi, err := os.Stat(p)
			if errors.Is(err, os.ErrNotExist) {
				fmt.Fprintf(out, "%s was not written\n", d.name)
				break
			} else if err != nil {
				return err
			}
			r.bytes += fi.Size()
		}
		if r.bytes == 0 {
			continue
		}
		if err := r.measure(command, dir, peers, reps); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		results, all = append(results, r), append(all, r.tools...)
	}
	fmt.Fprintf(out, "\n%d rows, of JSON Lines %d; one thread, from opening the file on, best of %d.\n\n", rows, rows/10, reps)
	fileTables(out, results)
	if err := writeJSON(filepath.Join(dir, "files.json"), all); err != nil {
		return err
	}
	return agree(all)
}

// buildCommand builds the command from the sources that this module is compared with.
func buildCommand(dir string) (string, error) {
	const module = "github.com/candor-go/candor"
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("start it in its own folder: %w", err)
	}
	command, err := filepath.Abs(filepath.Join(dir, "candor"))
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		command += ".exe"
	}
	build := exec.Command("go", "build", "-o", command, "./cmd/candor")
	build.Dir = strings.TrimSpace(string(root))
	if b, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, b)
	}
	return command, nil
}

// measure lets the tools take turns.
func (r *fileResult) measure(command, dir string, peers *peers, reps int) error {
	d := r.file
	others := peers.hello.Files[d.name]
	r.tools = make([]sample, 1+len(others))
	for rep := range reps {
		first := rep == 0
		s, err := d.evaluate(command, dir, 1)
		if err != nil {
			return err
		}
		keepBest(&r.tools[0], s, first)
		two, err := d.evaluate(command, dir, 2)
		if err != nil {
			return err
		}
		if first || two.Wall < r.two {
			r.two = two.Wall
		}
		for i, tool := range others {
			if s, err = peers.ask(d.name, tool); err != nil {
				return err
			}
			keepBest(&r.tools[1+i], s, first)
		}
		if s, err = d.read(dir); err != nil {
			return err
		}
		keepBest(&r.reader, s, first)
		if s, err = d.loop(dir); err != nil {
			return err
		}
		keepBest(&r.loop, s, first)
	}
	r.alone = r.tools[0].Wall
	return nil
}

// fileTables prints what was measured.
func fileTables(out io.Writer, results []fileResult) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "file\tMB\ttool\tCPU s\twall s\tcandor is\t")
	for _, r := range results {
		for _, s := range r.tools {
			fmt.Fprintf(t, "%s\t%.0f\t%s\t%.3f\t%.3f\t%.2fx\t\n", s.Workload, float64(r.bytes)/1e6, s.Tool, s.Seconds, s.Wall, s.Seconds/r.tools[0].Seconds)
		}
	}
	t.Flush()
	fmt.Fprintln(out, "\ncandor's CPU seconds: with the metrics, of the reader alone, and of a loop that reads the bytes. Wall time of one thread to that of two.")
	fmt.Fprintln(out)
	npy := slices.IndexFunc(results, func(r fileResult) bool { return r.file.labels != "" })
	fmt.Fprintln(t, "file\tcandor\treader\tread loop\tof the loop\tof .npy, reader\tof .npy\ttwo threads\t")
	for _, r := range results {
		ofReader, of := "-", "-"
		if npy >= 0 && r.file.same {
			n := &results[npy]
			ofReader, of = fmt.Sprintf("%.2f", n.reader.Seconds/r.reader.Seconds), fmt.Sprintf("%.2f", n.tools[0].Seconds/r.tools[0].Seconds)
		}
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%.2f\t%s\t%s\t%.2fx\t\n", r.file.name, r.tools[0].Seconds, r.reader.Seconds, r.loop.Seconds,
			r.loop.Seconds/r.reader.Seconds, ofReader, of, r.alone/r.two)
	}
	t.Flush()
}
