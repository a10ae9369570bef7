package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestPrintClustered: intervals by clusters hold the true values in most sets, and in more than those that take rows as independent do.
func TestPrintClustered(t *testing.T) {
	var b strings.Builder
	if err := printClustered(&b, check.Size(10, 20, 400), check.Size(10_000, 20_000, 100_000), 2, []int{60}); err != nil {
		t.Fatal(err)
	}
	rows, clustered, independent := 0, 0.0, 0.0
	for _, l := range strings.Split(b.String(), "\n") {
		if !strings.HasPrefix(l, "| `") {
			continue
		}
		rows++
		for _, f := range strings.Split(l, "|")[2:] {
			var v, plain float64
			if n, _ := fmt.Sscanf(strings.TrimSpace(f), "%f (%f)", &v, &plain); n == 2 {
				clustered, independent = clustered+v, independent+plain
				if v < 0.6 { // so few sets tell what is badly off, no more
					t.Error(l)
				}
			}
		}
	}
	if rows != len(clusterNames) || !(clustered > 1.2*independent) {
		t.Errorf("%d rows, shares of %v and of %v:\n%s", rows, clustered, independent, b.String())
	}
}
