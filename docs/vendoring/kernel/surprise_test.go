package surprise

import (
	"fmt"
	"log"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func Example() {
	logits := []float32{2, 0, 0, 0, 0, 1}
	nll, accuracy, err := Mean(logits, 3, []int32{0, 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f nats, %.0f%% correct\n", nll, 100*accuracy)
	// Output: 0.8955 nats, 50% correct
}

func TestMean(t *testing.T) {
	const n, k = 3*rows + 7, 5
	x, y := make([]float32, n*k), make([]int32, n)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	want, hits := 0.0, 0.0
	for i := range y {
		y[i] = int32(i * i % k)
		sum, top := 0.0, 0
		for j, v := range x[i*k : i*k+k] {
			sum += math.Exp(float64(v))
			if v > x[i*k+top] {
				top = j
			}
		}
		want += math.Log(sum) - float64(x[i*k+int(y[i])])
		if top == int(y[i]) {
			hits++
		}
	}
	nll, accuracy, err := Mean(x, k, y)
	if err != nil || math.Abs(nll-want/n) > 1e-5 || accuracy != hits/n {
		t.Errorf("%v, %v, %v; by hand %v, %v", nll, accuracy, err, want/n, hits/n)
	}
	y[3] = k
	if _, _, err := Mean(x, k, y); err != ErrRow {
		t.Errorf("%v", err)
	}
}

// TestPulls holds what docs/vendoring.md says of the modules that kernel pulls in.
func TestPulls(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	l := strings.Fields(string(out))
	slices.Sort(l)
	want := []string{"example.com/vendoring/kernel", "github.com/candor-go/candor", "github.com/klauspost/cpuid/v2", "golang.org/x/sys"}
	if l = slices.Compact(l); !slices.Equal(l, want) {
		t.Errorf("%v, want %v", l, want)
	}
}
