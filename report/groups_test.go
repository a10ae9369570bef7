package report

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// oneChunk is a source of one chunk.
type oneChunk struct{ c *metrics.Chunk }

func (s *oneChunk) Next() (c *metrics.Chunk, err error) {
	if c, s.c = s.c, nil; c == nil {
		err = io.EOF
	}
	return c, err
}

// TestGroupsTableCut: at most 40 groups, quoted values if they would be invisible, truncated long values on a terminal, and as many
// metrics as fit, in order.
func TestGroupsTableCut(t *testing.T) {
	values := []string{"north", "", " lead", "tab\there", "\x1b[31mred", "::error::x", "##[error]x", strings.Repeat("x", 70)}
	for len(values) < 45 {
		values = append(values, "z"+strings.Repeat("z", len(values)%7)+string(rune('a'+len(values)%26)))
	}
	spec := eval.Spec{Classes: 1}
	var err error
	if spec.Metrics, err = eval.ParseMetrics("default", spec.Shape()); err != nil {
		t.Fatal(err)
	}
	g, err := grouped.New(spec, []string{"site"})
	if err != nil {
		t.Fatal(err)
	}
	n := len(values)
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: 1}}
	c := &metrics.Chunk{}
	for i := range n {
		p.F64, p.Labels, c.Groups = append(p.F64, float64(i)/64), append(p.Labels, int32(i%2)), append(c.Groups, int32(i))
	}
	c.Predictions = *p
	if err := g.AddSource(&oneChunk{c}, func(i int32) []string { return values[i : i+1] }, nil); err != nil {
		t.Fatal(err)
	}
	d := OfGroups(g, grouped.TestOptions{})
	var plain, page bytes.Buffer
	if err := d.GroupsTable(&plain, Plain, 80); err != nil {
		t.Fatal(err)
	}
	if err := d.GroupsTable(&page, Markdown, 0); err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"\n north ", "\n \"\" ", "\n \" lead\" ", `"tab\there"`, `"\x1b[31mred"`, "\n \"::error::x\" ", "\n \"##[error]x\" ", " " + strings.Repeat("x", 29) + "... ", "5 more groups and "} {
		if !strings.Contains(plain.String(), w) {
			t.Errorf("the table has no %q:\n%s", w, plain.String())
		}
	}
	for _, l := range strings.Split(plain.String(), "\n") {
		if len(l) > 80 || strings.TrimRight(l, " ") != l {
			t.Errorf("%q", l)
		}
	}
	if l := strings.Count(page.String(), "\n"); l != n+2 || !strings.Contains(page.String(), strings.Repeat("x", 70)) {
		t.Errorf("%d lines:\n%s", l, page.String())
	}
}
