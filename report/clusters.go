package report

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
)

// clusters is what a document says of the clusters of its rows.
type clusters eval.Clusters

// count names the clusters: "1 cluster of patient".
func (c *clusters) count() string {
	noun := "clusters"
	if c.Number == 1 {
		noun = "cluster"
	}
	return fmt.Sprintf("%s %s of %s", Count(int64(c.Number)), noun, visible.Text(c.Column))
}

// line is the line below a table.
func (c *clusters) line(of string) string {
	if c.Number < 2 {
		return "Rows are of " + c.count() + ", so there are no intervals."
	}
	rows := "up to " + Count(c.Largest) + " rows each"
	if c.Largest == 1 {
		rows = "one row each"
	}
	s := fmt.Sprintf("Intervals allow for dependent rows within %s, of %s.", c.count(), rows)
	if d := c.DesignEffect; !math.IsNaN(d) {
		s += fmt.Sprintf(" Design effect of the %s: %.3g.", of, d)
	}
	if f := c.DF; f < 0.9*float64(c.Number-1) {
		s += fmt.Sprintf(" Since their sizes differ, Student's t is that of %.3g clusters of one size.", f+1)
	}
	return s
}

func (c *clusters) object() object {
	return object{{"column", c.Column}, {"number", c.Number}, {"largest", c.Largest}, {"design_effect", number(c.DesignEffect)}, {"degrees_of_freedom", number(c.DF)}}
}

// clustersLine returns what a document says of its clusters below a table; "" if it has none.
func (d *Document) clustersLine() string {
	if d.Clusters == nil {
		return ""
	}
	of := "accuracy"
	if d.shape.Classes == 1 {
		of = "event rate"
	}
	return (*clusters)(d.Clusters).line(of)
}
