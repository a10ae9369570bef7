package report

import (
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
)

// TestRough: intervals after a fit are said to be rough where rows are of few clusters, and only there.
func TestRough(t *testing.T) {
	for _, c := range []struct {
		method   string
		clusters int
		df       float64
		rough    bool
	}{
		{"by clusters" + ByMaps, 30, 29, true}, {"by clusters" + ByMaps, 300, 20, true}, {"by clusters, fitted temperatures as fixed", 149, 148, true}, {"by clusters" + ByMaps, fewFitted, fewFitted - 1, false},
		{"by clusters", 30, 29, false}, {"by clusters" + ByMaps, 1, math.NaN(), false},
	} {
		d := &Differences{Clusters: &eval.Clusters{Column: "c", Number: c.clusters, Largest: 3, DF: c.df}, List: []compared.Difference{{Method: c.method}}}
		if got := d.Rough(); (got != "") != c.rough || c.rough && !strings.Contains(d.Independent(), got) {
			t.Errorf("%+v: %q, and %q", c, got, d.Independent())
		}
	}
	var none *Differences
	if none.Rough() != "" || (&Differences{List: []compared.Difference{{Method: ByMaps}}}).Rough() != "" {
		t.Error("rows without clusters are said to be of few")
	}
}
