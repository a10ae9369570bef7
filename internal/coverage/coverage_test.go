package main

import (
	"strconv"
	"strings"
	"testing"
)

// TestPrint: the tables have a share for each metric of each law, and no calibrated model is found fault with too often.
func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := Print(&b, 40, 20_000, 2); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, l := range strings.Split(b.String(), "\n") {
		if !strings.HasPrefix(l, "| `") && !strings.HasPrefix(l, "| 0.9") {
			continue
		}
		rows++
		for _, f := range strings.Split(l, "|")[2:] {
			v, err := strconv.ParseFloat(strings.TrimSpace(f), 64)
			if err != nil {
				continue
			}
			// 40 sets tell what is badly off, no more.
			if strings.HasPrefix(l, "| `") && v < 0.75 || strings.HasPrefix(l, "| 0.9") && v > 0.25 {
				t.Error(l)
			}
		}
	}
	if rows != len(names)+10 {
		t.Errorf("%d rows:\n%s", rows, b.String())
	}
}
