package recal_test

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

type temperatureCase struct {
	Logits      [][]float64 `json:"logits"`
	Labels      []int32     `json:"labels"`
	NLLBefore   float64     `json:"nll_before"`
	NLLAfter    float64     `json:"nll_after"`
	Temperature float64     `json:"temperature"`
	ProbsAfter  [][]float64 `json:"probs_after_first5"`
}

func temperatureGolden(t *testing.T) []temperatureCase {
	t.Helper()
	f, err := os.Open("testdata/recalibration.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Multiclass []temperatureCase `json:"multiclass"`
	}
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all.Multiclass
}

func temperatureRows(rows [][]float64, labels []int32) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: labels}
	p.Rows, p.Classes = len(rows), len(rows[0])
	for _, r := range rows {
		p.F64 = append(p.F64, r...)
	}
	return p
}

func temperatureOf(t *testing.T, p *metrics.Predictions) *recal.TemperatureMap {
	t.Helper()
	m, err := recal.Temperature{}.Fit(recal.InMemory(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*recal.TemperatureMap)
}

func temperatureNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Abs(want)) {
		t.Errorf("%s is %v, want %v (off by %.2g)", what, got, want, got/want-1)
	}
}

func TestTemperatureGolden(t *testing.T) {
	for _, c := range temperatureGolden(t) {
		p := temperatureRows(c.Logits, c.Labels)
		m := temperatureOf(t, p)
		temperatureNear(t, "temperature", m.T(), c.Temperature, 1e-9)
		if n := m.Fit().Reads; n > 8 {
			t.Errorf("%d reads", n)
		}
		nll, _, err := recal.Profile(recal.InMemory(p), nil, []float64{1, m.T()})
		if err != nil {
			t.Fatal(err)
		}
		temperatureNear(t, "NLL before", nll[0], c.NLLBefore, 1e-12)
		temperatureNear(t, "NLL after", nll[1], c.NLLAfter, 1e-12)
		dst := metrics.Scores{F64: make([]float64, len(p.F64)), Rows: p.Rows, Classes: p.Classes}
		m.Apply(&dst, &p.Scores, p.Kind)
		for i, row := range c.ProbsAfter {
			for j, v := range row {
				temperatureNear(t, "probability", dst.F64[i*p.Classes+j], v, 1e-8)
			}
		}
		t.Logf("T = %v, reads %d, off %.2g, %v", m.T(), m.Fit().Reads, m.T()/c.Temperature-1, m.Interval(0.95))
	}
}
