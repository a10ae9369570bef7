package predictions_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

// TestNoRows: callers can tell files without rows from bad ones, whatever their format.
func TestNoRows(t *testing.T) {
	dir := t.TempDir()
	array := func(shape ...int64) string { return write(dir, "empty.npy", shape, []float32{}) }
	text := func(s string) string {
		path := filepath.Join(dir, "empty.csv")
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	labels := write(dir, "labels.npy", []int64{0}, []int32{})
	for _, c := range []struct {
		name string
		open func() (metrics.Source, error)
		none bool
	}{
		{"array", func() (metrics.Source, error) {
			return predictions.Open([]string{array(0, 3)}, &predictions.Options{Labels: []string{labels}})
		}, true},
		{"samples", func() (metrics.Source, error) {
			return predictions.Open([]string{array(0, 3)}, &predictions.Options{Kind: metrics.Samples, Observed: []string{labels}})
		}, true},
		{"table", func() (metrics.Source, error) {
			return predictions.OpenTable([]string{text("p,y\n")}, &predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}})
		}, true},
		{"bad", func() (metrics.Source, error) {
			return predictions.OpenTable([]string{text("p,y\n0.5,x\n")}, &predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}})
		}, false},
	} {
		src, err := c.open()
		if err == nil {
			_, err = src.Next()
		}
		if err == nil || errors.Is(err, predictions.ErrNoRows) != c.none {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := predictions.OpenMembers([]string{array(2, 0, 3)}, &predictions.Options{Labels: []string{labels}}); !errors.Is(err, predictions.ErrNoRows) {
		t.Error(err)
	}
}
