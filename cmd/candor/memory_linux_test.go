package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/candor-go/candor/internal/check"
)

// sparse writes an .npy whose data are zeros that take no room on disk.
func sparse(t *testing.T, name, descr, shape string, bytes int64) {
	t.Helper()
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	b = append(b, head...)
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, int64(len(b))+bytes); err != nil {
		t.Fatal(err)
	}
}

// peak runs a command and returns the most memory that it had resident, in KiB. The kernel keeps that with the process's memory,
// which begins anew when a program is started, and is asked for it as long as the process runs: what it tells when the process has
// ended is of the one too from which that was forked.
func peak(t *testing.T, c *exec.Cmd) int64 {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	most, done := int64(0), make(chan struct{})
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
			if _, after, ok := strings.Cut(string(b), "VmHWM:"); ok && strings.HasPrefix(string(b), "Name:\tcandor\n") {
				var kib int64
				if _, err := fmt.Sscan(after, &kib); err == nil {
					most = max(most, kib)
				}
			}
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	err := c.Wait()
	close(done)
	<-asked
	if err != nil {
		t.Fatalf("%v: %v", err, c.Stderr)
	}
	if most == 0 {
		t.Fatal("nothing is known of its memory")
	}
	return most
}

// TestMemory evaluates 200 MB of scores in a process of its own, which has to stay within 64 MiB: 4 GB if nothing is left out.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it evaluates 200 MB")
	}
	rows, k := 50_000, 1000
	if check.Full() {
		rows *= 20
	}
	const most = 64
	dir := t.TempDir()
	bin, x, y := build(t), filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.npy")
	sparse(t, x, "<f4", fmt.Sprintf("(%d, %d)", rows, k), int64(rows)*int64(k)*4)
	sparse(t, y, "<i8", fmt.Sprintf("(%d,)", rows), int64(rows)*8)
	c := exec.Command(bin, "eval", x, "--labels", y, "--input", "logits", "--metrics", "default,perplexity", "--json", "--max-memory", fmt.Sprint(most, "MiB"))
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	kib := peak(t, c)
	var d document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Input.Rows != int64(rows) || d.value(t, "accuracy") != 1 {
		t.Errorf("%d rows, accuracy %v", d.Input.Rows, d.value(t, "accuracy"))
	}
	if g := d.value(t, "perplexity"); g < 999.99 || g > 1000.01 {
		t.Errorf("the perplexity of 1,000 equal classes is %v", g)
	}
	t.Logf("%d MiB resident for %d MiB of scores", kib>>10, rows*k*4>>20)
	if kib > most<<10 {
		t.Errorf("%d MiB resident at most, more than %d", kib>>10, most)
	}
	// As many entries as ace keeps at most, and their state.
	const kept = 10_900
	sparse(t, x, "<f8", fmt.Sprintf("(%d, 1000)", kept), kept*1000*8)
	sparse(t, y, "<i8", fmt.Sprintf("(%d,)", kept), kept*8)
	c = exec.Command(bin, "eval", x, "--labels", y, "--input", "logits", "--metrics", "default,ace", "--json", "--state", filepath.Join(dir, "s.state"))
	out.Reset()
	c.Stdout = &out
	kib = peak(t, c)
	d = document{}
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if g := d.value(t, "ace"); !(math.Abs(g-2*0.999/1000) < 1e-9) { // all right for class 0, none for the others
		t.Errorf("the ace of 1,000 equal classes is %v: %s", g, d.Metrics["ace"].Reason)
	}
	t.Logf("%d MiB resident for %d MiB of entries", kib>>10, kept*1000*8>>20)
	if kib > 256<<10 {
		t.Errorf("%d MiB resident at most, more than 256", kib>>10)
	}
}

// TestAverageMemory: a million rows of ten classes, whose scores are all different, have an area within the memory that goes without
// saying, and what it says of memory to pass is enough.
func TestAverageMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it evaluates 80 MB")
	}
	const rows, classes = 1_000_000, 10
	d, r := newDir(t), rand.New(rand.NewPCG(20, 10))
	scores, labels := make([]float64, rows*classes), make([]int32, rows)
	for i := range rows {
		var row [classes]float64
		sum := 0.0
		for j := range row {
			row[j] = 0.01 + r.Float64()
			sum += row[j]
		}
		for j, v := range row {
			scores[i*classes+j] = v / sum
		}
		labels[i] = r.Int32N(classes)
	}
	x := d.put("x.npy", npy(t, []int64{rows, classes}, scores))
	y := d.put("y.npy", npy(t, []int64{rows}, labels))
	bin, key := build(t), "auroc(average=macro)"
	run := func(memory string) (*document, int64) {
		t.Helper()
		c := exec.Command(bin, "eval", x, "--labels", y, "--metrics", key, "--json", "--max-memory", memory)
		var out bytes.Buffer
		c.Stdout = &out
		kib := peak(t, c)
		var d document
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		return &d, kib
	}
	doc, kib := run("256MiB")
	v := doc.value(t, key)
	if t.Logf("%v, %d MiB resident", v, kib>>10); !(math.Abs(v-0.5) < 0.002) || kib > 256<<10 {
		t.Errorf("%v (%s), %d MiB resident", v, doc.Metrics[key].Reason, kib>>10)
	}
	little, _ := run("64MiB")
	_, after, ok := strings.Cut(little.Metrics[key].Reason, "pass --max-memory ")
	if !ok || little.Metrics[key].Value != nil {
		t.Fatalf("%+v", little.Metrics[key])
	}
	if enough, _ := run(after); enough.value(t, key) != v {
		t.Errorf("with %s: %+v", after, enough.Metrics[key])
	}
}

// TestManyThreads: a row of one score and a weight, with which labels and weights take eight times what scores do, fits into the memory that
// goes without saying on many CPUs too.
func TestManyThreads(t *testing.T) {
	const rows = 600_000
	d := newDir(t)
	scores, labels, weights := make([]float32, rows), make([]int32, rows), make([]float64, rows)
	for i := range rows {
		scores[i], labels[i], weights[i] = 0.5, int32(i%2), 1
	}
	x, y, w := d.put("x.npy", npy(t, []int64{rows}, scores)), d.put("y.npy", npy(t, []int64{rows}, labels)), d.put("w.npy", npy(t, []int64{rows}, weights))
	doc := evaluate(t, x, "--labels", y, "--weights", w, "--threads", "16")
	if v := doc.value(t, "brier"); v != 0.25 {
		t.Errorf("brier is %v", v)
	}
}

// TestMaxMemory: what does not fit is refused at once, and within the memory that is then named it has its answer.
func TestMaxMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it measures several processes")
	}
	d, r := newDir(t), rand.New(rand.NewPCG(20, 3))
	const rows = 60_000
	p, y, g, more := make([]float64, rows), make([]int32, rows), make([]int32, rows), make([]int32, rows)
	for i := range rows {
		p[i], g[i], more[i] = r.Float64(), int32(i%150), int32(i%20_000)
		if r.Float64() < p[i] {
			y[i] = 1
		}
	}
	one := []string{d.put("p.npy", npy(t, []int64{rows}, p)), "--labels", d.put("y.npy", npy(t, []int64{rows}, y))}
	groups := d.put("g.npy", npy(t, []int64{rows}, g))
	q := slices.Clone(p)
	slices.Reverse(q)
	other := d.put("q.npy", npy(t, []int64{rows}, q))
	const few, classes = 12, 300_000
	z := make([]float32, few*classes)
	for i := range z {
		z[i] = float32(3 * r.NormFloat64())
	}
	wide := []string{d.put("z.npy", npy(t, []int64{few, classes}, z)), "--labels", d.put("k.npy", npy(t, []int64{few}, y[:few])), "--input", "logits"}
	bin, little := build(t), "these metrics take about"
	for _, c := range []struct {
		name   string
		args   []string
		says   string
		little string // memory that is too little
	}{
		{"classes", append([]string{"eval", "--metrics", "sce,balanced_accuracy,brier_skill"}, wide...), little, "56MiB"},
		{"bins", append([]string{"eval", "--metrics", "ece(bins=200000)"}, one...), little, "56MiB"},
		{"groups", append([]string{"eval", "--metrics", "default,sce,retention_nll,ece_sweep", "--group", groups}, one...), "groups or more, and these metrics of each take more memory than there is", "60MiB"},
		{"sets", append([]string{"compare", one[0], // twice
			"--metrics", "auroc(average=macro),ace,retention_nll,retention_accuracy"}, one...), "these metrics of 2 sets take about ", "56MiB"},
		{"groups of sets", append([]string{"compare", other, "--metrics", "nll,brier", "--group", d.put("more.npy", npy(t, []int64{rows}, more))}, one...),
			"by more rows are in 20000 groups or more, whose sums of 1 pair of models take more memory than there is", "56MiB"},
		{"outside", append([]string{"eval", "--metrics", "ood_auroc(score=entropy),ood_auroc,retention_nll,retention_accuracy", "--ood", one[0]}, one...), little, "56MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			run := func(memory string) *exec.Cmd {
				out.Reset()
				errs.Reset()
				x := exec.Command(bin, append(c.args, "--json", "--threads", "1", "--max-memory", memory)...)
				x.Stdout, x.Stderr = &out, &errs
				return x
			}
			var failed *exec.ExitError
			if err := run(c.little).Run(); !errors.As(err, &failed) || failed.ExitCode() != exitUsage || out.Len() > 0 {
				t.Fatalf("with %s: %v, %s", c.little, err, errs.String())
			}
			said := errs.String()
			_, after, ok := strings.Cut(said, "pass --max-memory ")
			n, _, _ := strings.Cut(after, "MiB")
			if !ok || !strings.Contains(said, c.says) {
				t.Fatalf("it says %s", said)
			}
			most, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			kib := peak(t, run(n+"MiB"))
			t.Logf("%d MiB resident within %d", kib>>10, most)
			if kib > int64(most)<<10 || !json.Valid(out.Bytes()) {
				t.Errorf("%d MiB resident within %d: %.200s", kib>>10, most, out.Bytes())
			}
		})
	}
}
