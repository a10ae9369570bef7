package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/candor-go/candor/recal"
)

// TestScaledFewRows: folds without rows, or without a best temperature, take the metrics with it, and no others.
func TestScaledFewRows(t *testing.T) {
	for _, rows := range []int{1, 2, 3} {
		d, s := newDir(t), newSet(3, rows, 3)
		doc := evaluate(t, d.put("x.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--temperature-scaled")
		if doc.Metrics["accuracy"].Value == nil || doc.Metrics["nll_temperature_scaled"].Reason == "" {
			t.Errorf("%d rows: %+v", rows, doc.Metrics)
		}
	}
}

// TestNoMap: what is nothing wrong with the data is a reason, and else an error.
func TestNoMap(t *testing.T) {
	for _, err := range []error{recal.ErrUnreachable, recal.ErrNoMinimum, recal.ErrNoRows} {
		if s := noMap(fmt.Errorf("recal: fold 1 of 5: %w", err)); !strings.HasPrefix(s, "fold 1 of 5: ") {
			t.Errorf("%v: %q", err, s)
		}
	}
	for _, err := range []error{nil, errors.New("recal: other rows")} {
		if s := noMap(err); s != "" {
			t.Errorf("%v: %q", err, s)
		}
	}
}
