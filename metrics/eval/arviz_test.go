package eval

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestEffectiveParameters: p_waic, p_loo and psis_loo(r_eff=) are ArviZ's, and merged parts are the whole.
func TestEffectiveParameters(t *testing.T) {
	data, err := os.ReadFile("../../testdata/oracle/arviz.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			Rows  [][]float64
			PWAIC float64 `json:"p_waic"`
			LOO   []struct {
				REff, ELPD, P float64
			}
		}
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	for _, c := range g.Cases {
		rowsOf := func(rows [][]float64) *metrics.Predictions {
			p := &metrics.Predictions{Kind: metrics.LogLiks}
			p.Rows, p.Classes = len(rows), len(rows[0])
			for _, r := range rows {
				p.F64 = append(p.F64, r...)
			}
			return p
		}
		s := Spec{Classes: len(c.Rows[0]), Kind: metrics.LogLiks}
		s.Metrics = listOf(t, "p_waic(as_coded),p_waic,lppd,nwaic1,psis_loo,p_loo,psis_loo(r_eff=0.25),p_loo(r_eff=0.25),pareto_k_max(r_eff=0.25),pareto_k_max", s.Shape())
		whole, e := fill(t, s, rowsOf(c.Rows)), fill(t, s, rowsOf(c.Rows[:2]))
		if err := e.Merge(fill(t, s, rowsOf(c.Rows[2:]))); err != nil {
			t.Fatal(err)
		}
		if e.SHA256() != whole.SHA256() {
			t.Error("the states of parts and of all rows differ")
		}
		v := func(i int) float64 { return e.Value(s.Metrics[i]).Value }
		n := float64(len(c.Rows))
		if c.LOO[0].REff != 1 || c.LOO[2].REff != 0.25 {
			t.Fatal("the file has other efficiencies")
		}
		for i, want := range map[int]float64{0: c.PWAIC, 1: n * (v(2) - v(3)), 4: c.LOO[0].ELPD / n, 5: c.LOO[0].P, 6: c.LOO[2].ELPD / n, 7: c.LOO[2].P} {
			if got := v(i); !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
				t.Errorf("%v is %v, want %v", s.Metrics[i], got, want)
			}
		}
		if long := len(c.Rows[0]) > 225; long == (v(8) == v(9)) { // of 225 draws and fewer a fifth is the tail either way
			t.Errorf("%d draws: shapes %v and %v", len(c.Rows[0]), v(8), v(9))
		}
		if i := e.Value(s.Metrics[5]).Interval; !(i.Low < v(5) && v(5) < i.High) {
			t.Errorf("p_loo %v has the interval %v", v(5), i)
		}
		if text := e.Text(s.Metrics[7]); text != "N (lppd - psis_loo); r_eff=0.25" {
			t.Error(text)
		}
		if m := e.Value(s.Metrics[0]).Method; !strings.HasPrefix(m, "n times mean") {
			t.Error(m)
		}
	}
	for metric, want := range map[string]string{"psis_loo(r_eff=0)": `r_eff is "0"; it is a number from 0.001 to 10`, "p_loo(as_coded)": `there is no option "as_coded"; there are r_eff=1`} {
		if _, err := ParseMetrics(metric, Shape{Classes: 9, Kind: metrics.LogLiks}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", metric, err, want)
		}
	}
}
