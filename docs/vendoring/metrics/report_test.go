package report

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

func shard(first, n int) (probs []float32, labels []int32) {
	for i := first; i < first+n; i++ {
		p := float32(i%80+10) / 100
		probs = append(probs, p, 1-p)
		labels = append(labels, int32(i*7/3%2))
	}
	return probs, labels
}

func Example() {
	r := New()
	if err := r.Add([]float32{0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.3, 0.3, 0.4}, 3, []int32{0, 1, 0}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(r)
	// Output: 3 rows: NLL 0.5946, Brier score 0.3133, ECE 0.3000 [0.0000, 0.8103]
}

// TestShards: two shards merge to the state of the whole.
func TestShards(t *testing.T) {
	whole, a, b := New(), New(), New()
	for _, c := range []struct {
		r        *Report
		first, n int
	}{{whole, 0, 500}, {b, 200, 300}, {a, 0, 200}} {
		p, y := shard(c.first, c.n)
		if err := c.r.Add(p, 2, y); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Merge(a); err != nil {
		t.Fatal(err)
	}
	x, err := whole.MarshalBinary()
	y, errs := b.MarshalBinary()
	if err != nil || errs != nil || !bytes.Equal(x, y) {
		t.Error(err, errs, len(x), len(y))
	}
}

func TestBadRow(t *testing.T) {
	var d *metrics.DataError
	if err := New().Add([]float32{0.5, 0.5, 0.9, 0.9}, 2, []int32{0, 1}); !errors.As(err, &d) {
		t.Errorf("%v", err)
	}
}

// TestPulls holds what docs/vendoring.md says of the modules that metrics pulls in.
func TestPulls(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	l := strings.Fields(string(out))
	slices.Sort(l)
	want := []string{"example.com/vendoring/metrics", "github.com/candor-go/candor", "github.com/klauspost/cpuid/v2", "golang.org/x/sys", "gonum.org/v1/gonum"}
	if l = slices.Compact(l); !slices.Equal(l, want) {
		t.Errorf("%v, want %v", l, want)
	}
}
