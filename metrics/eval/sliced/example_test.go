package sliced_test

import (
	"fmt"
	"io"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/sliced"
)

// rows yields one chunk.
type rows struct{ chunk *metrics.Chunk }

func (r *rows) Next() (*metrics.Chunk, error) {
	c := r.chunk
	if r.chunk = nil; c == nil {
		return nil, io.EOF
	}
	return c, nil
}

// Of 400 rows with the score 0.5, those of site a have the event in 3 of 4, and those of site b in 1 of 4.
func Example() {
	c := &metrics.Chunk{}
	c.Rows, c.Classes = 400, 1
	for i := range c.Rows {
		site := i % 2
		y := 0
		if i/2%4 < 3-2*site {
			y = 1
		}
		c.F64, c.Labels, c.Groups = append(c.F64, 0.5), append(c.Labels, int32(y)), append(c.Groups, int32(site))
	}
	spec := eval.Spec{Classes: 1}
	spec.Metrics, _ = eval.ParseMetrics("bias,multicalibration_error,multicalibration_gap_p", spec.Shape())
	e, err := sliced.New(spec, []sliced.Column{{Name: "site"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := func(group int32) []string { return []string{[]string{"a", "b"}[group]} }
	if err := e.AddSource(&rows{c}, values, nil); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range spec.Metrics {
		fmt.Printf("%s %.3f\n", m, e.Whole().Value(m).Value)
	}
	list, _, _ := e.List(sliced.ListOptions{MinRows: 30})
	for _, s := range list {
		fmt.Printf("%s = %s: %d rows, %+.2f, adjusted p %.1e\n", s.Columns[0], s.Values[0], s.Rows, s.Gap, s.Adjusted)
	}
	// Output:
	// bias 0.000
	// multicalibration_error 0.177
	// multicalibration_gap_p 0.001
	// site = a: 200 rows, -0.25, adjusted p 1.7e-12
	// site = b: 200 rows, +0.25, adjusted p 1.7e-12
}
