package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// TestPrint: the tables have a share for each metric of each law, and no calibrated model is found fault with too often.
func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := Print(&b, check.Size(10, 20, 400), check.Size(5_000, 10_000, 100_000), 2); err != nil {
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
			// So few sets tell what is badly off, no more.
			if strings.HasPrefix(l, "| `") && v < 0.6 || strings.HasPrefix(l, "| 0.9") && v > 0.4 {
				t.Error(l)
			}
		}
	}
	if rows != len(names)+10 {
		t.Errorf("%d rows:\n%s", rows, b.String())
	}
}

// TestPrintForecasts: the intervals of forecasts hold the true values in most sets, and calibrated forecasts are seldom found fault with.
func TestPrintForecasts(t *testing.T) {
	var b strings.Builder
	if err := printForecasts(&b, check.Size(10, 20, 400), 2); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, l := range strings.Split(b.String(), "\n") {
		least, most := 0.6, 1.0
		switch {
		case strings.HasPrefix(l, "| `rmse` |"):
			least = 0.2 // of heavy tails most sets hold none of the largest errors
		case strings.HasPrefix(l, "| verdict"):
			least, most = 0, 0.4
		case !strings.HasPrefix(l, "| `"):
			continue
		}
		rows++
		for _, f := range strings.Split(strings.Trim(l, "| "), "|")[1:] {
			if v, err := strconv.ParseFloat(strings.TrimSpace(f), 64); err != nil || v < least || v > most {
				t.Error(l)
			}
		}
	}
	if rows != len(forecastNames)+2 {
		t.Errorf("%d rows:\n%s", rows, b.String())
	}
}

// TestPrintPairs: the intervals of differences hold the true ones in most sets, whatever the law.
func TestPrintPairs(t *testing.T) {
	var b strings.Builder
	if err := printPairs(&b, check.Size(10, 20, 400), check.Size(20_000, 20_000, 100_000), 2, []int{200, 400}); err != nil {
		t.Fatal(err)
	}
	rows, shares := 0, 0
	for _, l := range strings.Split(b.String(), "\n") {
		if !strings.HasPrefix(l, "| `") {
			continue
		}
		rows++
		for _, f := range strings.Split(l, "|")[2:] {
			if v, err := strconv.ParseFloat(strings.TrimSpace(f), 64); err == nil {
				if shares++; v < 0.6 { // so few sets tell what is badly off, no more
					t.Error(l)
				}
			}
		}
	}
	if rows != 2*len(pairNames) || shares < rows*4 {
		t.Errorf("%d rows, %d shares:\n%s", rows, shares, b.String())
	}
}

// TestPrintClusters: intervals of differences of rows in clusters hold the true ones in most sets, and in more than those that take rows as
// independent do.
func TestPrintClusters(t *testing.T) {
	var b strings.Builder
	if err := printClusters(&b, check.Size(10, 20, 400), check.Size(10_000, 20_000, 100_000), 2, []int{60}); err != nil {
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
	if rows != len(pairNames) || !(clustered > 1.2*independent) {
		t.Errorf("%d rows, shares of %v and of %v:\n%s", rows, clustered, independent, b.String())
	}
}

// TestPrintFitted: the intervals of differences that are made with fitted temperatures hold the true ones in most sets.
func TestPrintFitted(t *testing.T) {
	var b strings.Builder
	if err := printFitted(&b, check.Size(10, 20, 200), check.Size(2000, 5000, 50_000), 2, []int{400}); err != nil {
		t.Fatal(err)
	}
	rows, shares := 0, 0
	for _, l := range strings.Split(b.String(), "\n") {
		if !strings.Contains(l, "| `") {
			continue
		}
		rows++
		for _, f := range strings.Split(l, "|")[3:] {
			if v, err := strconv.ParseFloat(strings.TrimSpace(f), 64); err == nil {
				if shares++; v < 0.5 { // so few sets tell what is badly off, no more
					t.Error(l)
				}
			}
		}
	}
	if want := len(fittedWhat) * len(fittedLosses); rows != want || shares < want*5 {
		t.Errorf("%d rows, %d shares:\n%s", rows, shares, b.String())
	}
}

// TestPrintFittedClusters: likewise where rows are in clusters, of which each is in one fold.
func TestPrintFittedClusters(t *testing.T) {
	defer func(law string) { onlyLaw = law }(onlyLaw)
	onlyLaw = "frames"
	runs := check.Size(20, 60, 500)
	var b strings.Builder
	if err := printFittedClusters(&b, runs, check.Size(4000, 20_000, 100_000), 2, []int{40}); err != nil {
		t.Fatal(err)
	}
	shares := 0
	for _, l := range strings.Split(b.String(), "\n") {
		f := strings.Split(l, "|")
		if !strings.Contains(l, "| `") || len(f) < 4 {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(f[3]), 64); err != nil || v < 0.93-5*math.Sqrt(0.07/float64(runs)) {
			t.Errorf("%s: %v", l, err)
		}
		shares++
	}
	if want := len(fittedWhat) * len(fittedLosses); shares != want {
		t.Errorf("%d shares, not %d:\n%s", shares, want, b.String())
	}
}

// TestPrintDrift: the tables have a share for each pair and family, and for each metric that a pair has; what never finds anything, or
// always, is badly off.
func TestPrintDrift(t *testing.T) {
	var b strings.Builder
	runs := check.Size(4, 12, 300)
	if err := PrintDrift(&b, runs, 100_000, 2); err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(b.String(), "\nShare")
	if len(tables) != 3 {
		t.Fatalf("%d tables:\n%s", len(tables), b.String())
	}
	pairs, shifts := 0, 0
	for _, c := range changes() {
		if pairs += len(driftRows); c.shift {
			shifts += len(driftRows)
		}
	}
	for i, want := range []int{pairs - shifts, pairs, shifts} {
		rows := 0
		for _, l := range strings.Split(tables[i], "\n") {
			if !strings.HasPrefix(l, "| ") || !strings.Contains(l, " and ") {
				continue
			}
			rows++
			fields := strings.Split(strings.Trim(l, "| "), "|")[1:]
			if n := []int{len(families), len(driftNames), len(families)}[i]; len(fields) != n {
				t.Errorf("%d columns: %s", len(fields), l)
			}
			for k, f := range fields {
				v, err := strconv.ParseFloat(strings.TrimSpace(f), 64)
				if err != nil {
					continue
				}
				// So few pairs tell what is badly off, no more.
				if i == 0 && v > 0.5 || i == 1 && v < 0.5 || i == 2 && k == len(families)-1 && strings.Contains(l, "10000 and") && v < 0.9 {
					t.Error(l)
				}
			}
		}
		if rows != want {
			t.Errorf("table %d has %d rows, not %d", i, rows, want)
		}
	}
}

// TestPrintSlices: calibrated models are seldom found fault with, and a planted slice is found.
func TestPrintSlices(t *testing.T) {
	var b strings.Builder
	if err := printSlices(&b, check.Size(4, 10, 200), 2, []int{1000}, 0); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, l := range strings.Split(b.String(), "\n") {
		f := strings.Split(l, "|")
		if len(f) < 7 || !strings.Contains(l, ", 1000") {
			continue
		}
		rows++
		for i, most := range map[int]float64{2: 0.5, 3: 0.5} { // so few sets tell what is badly off, no more
			if v, err := strconv.ParseFloat(strings.TrimSpace(f[i]), 64); err != nil || v > most {
				t.Error(l)
			}
		}
	}
	if rows != len(sliceLaws) {
		t.Errorf("%d rows:\n%s", rows, b.String())
	}
}
