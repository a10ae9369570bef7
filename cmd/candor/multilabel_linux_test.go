package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestLabelMemory: 1,000 labels with bins and sums stay within 256 MiB, or within the size of their files if that is less.
func TestLabelMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it evaluates 200 MB")
	}
	rows, k, most := 40_000, 1000, int64(40_000*1000*(4+1)>>20) // MiB
	if check.Full() {
		rows, most = 200_000, 256
	}
	dir := t.TempDir()
	bin, x, y := build(t), filepath.Join(dir, "x.npy"), filepath.Join(dir, "y.npy")
	sparse(t, x, "<f4", fmt.Sprintf("(%d, %d)", rows, k), int64(rows*k*4))
	sparse(t, y, "|b1", fmt.Sprintf("(%d, %d)", rows, k), int64(rows*k))
	c := exec.Command(bin, "eval", x, "--labels", y, "--task", "multilabel", "--json", "--input", "logits")
	var out bytes.Buffer
	c.Stdout = &out
	kib := peak(t, c)
	var d document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Input.Rows != int64(rows) || math.Abs(d.value(t, "nll")-math.Ln2) > 1e-12 {
		t.Errorf("%d rows, nll %v", d.Input.Rows, d.value(t, "nll"))
	}
	t.Logf("%d MiB resident for %d MiB of scores", kib>>10, rows*k*4>>20)
	if kib > most<<10 {
		t.Errorf("%d MiB resident at most, more than %d", kib>>10, most)
	}
}
