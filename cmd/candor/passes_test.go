package main

import (
	"context"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/recal"
)

// TestPasses: candor recal fit says which read of about how many is under way, and how many there are in the end is near that.
func TestPasses(t *testing.T) {
	var once *passes
	if s := once.next(); s != "reading" {
		t.Error(s)
	}
	p := &passes{about: 3}
	for _, want := range []string{"read 1 of about 3", "read 2 of about 3", "read 3 of about 3", "read 4 of about 4"} {
		if s := p.next(); s != want {
			t.Errorf("%q, not %q", s, want)
		}
	}
	d := newDir(t)
	s := recalSet(3, 400, 4)
	x, y := d.put("x.npy", npy(t, s.shape(), s.probs)), d.put("y.npy", s.labelFile(t))
	for _, name := range []string{"temperature", "ets", "isotonic", "histogram", "platt", "vector"} {
		var f recalFit
		c := &cobra.Command{}
		c.SetContext(context.Background())
		c.SetOut(io.Discard)
		c.SetErr(io.Discard)
		f.evalFlags.flags(c)
		f.evalFlags.limits(c)
		f.labels, f.input, f.folds, f.strict = []string{y}, "logits", 3, true
		m, err := recal.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.taskOf(m); err != nil {
			t.Fatal(err)
		}
		j, err := f.job(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.fit(c, j, m, []string{x}); err != nil {
			t.Fatal(name, err)
		}
		// Before the first fit the method says it, and afterwards that fit.
		size := recal.Size{Rows: 400, Classes: 4, Kind: j.read.Kind}
		guess := 1 + recal.NeedOf(m, size, nil).Reads
		guess += f.readsBehind(m, guess-1)
		done, about := j.passes.done, j.passes.about
		if done > 2*guess || 2*done < guess || done > about+about/4 || done < about-about/4 {
			t.Errorf("%s: %d reads, about %d were told of in the end, and %d at first", name, done, about, guess)
		}
	}
}
