package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// inGroups yields rows of two groups once.
type inGroups struct{ done bool }

func (s *inGroups) Next() (*metrics.Chunk, error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	c := &metrics.Chunk{Groups: []int32{0, 1}}
	c.Kind, c.Rows, c.Classes, c.F64 = metrics.Normals, 2, 3, []float64{0, 1, 1, 0, 1, 2}
	return c, nil
}

// TestGroupsTableText: what a group's value has that is not printed stands in quotes, so that it is neither a line of its own nor obeyed
// by a terminal.
func TestGroupsTableText(t *testing.T) {
	s := eval.Spec{Classes: 3, Kind: metrics.Normals, Level: 0.95}
	var err error
	if s.Metrics, err = eval.ParseMetrics("rmse", s.Shape()); err != nil {
		t.Fatal(err)
	}
	g, err := eval.NewGroups(s, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.AddSource(&inGroups{}, func(i int32) []string { return []string{[]string{"two\nlines \x1b[31m", "a ü"}[i]} }, nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Format{Plain, Markdown} {
		var b bytes.Buffer
		if err := OfGroups(g).GroupsTable(&b, f, 0); err != nil {
			t.Fatal(err)
		}
		if out := b.String(); !strings.Contains(out, `"two\nlines \x1b[31m"`) || !strings.Contains(out, "a ü ") || strings.Contains(out, "\x1b") {
			t.Errorf("%q", out)
		}
	}
}
