package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLabelMemory: 1,000 labels, of which bins and sums are kept, stay within 256 MiB.
func TestLabelMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it evaluates 1 GB")
	}
	dir := t.TempDir()
	bin, x, y := filepath.Join(dir, "candor"), filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.npy")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	const rows, k = 200_000, 1000
	sparse(t, x, "<f4", fmt.Sprintf("(%d, %d)", rows, k), rows*k*4)
	sparse(t, y, "|b1", fmt.Sprintf("(%d, %d)", rows, k), rows*k)
	c := exec.Command(bin, "eval", x, "--labels", y, "--task", "multilabel", "--json", "--input", "logits")
	var out bytes.Buffer
	c.Stdout = &out
	kib := peak(t, c)
	var d document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Input.Rows != rows || math.Abs(d.value(t, "nll")-math.Ln2) > 1e-12 {
		t.Errorf("%d rows, nll %v", d.Input.Rows, d.value(t, "nll"))
	}
	t.Logf("%d MiB resident for %d MiB of scores", kib>>10, rows*k*4>>20)
	if kib > 256<<10 {
		t.Errorf("%d MiB resident at most, more than 256", kib>>10)
	}
}
