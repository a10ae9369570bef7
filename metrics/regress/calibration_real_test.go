package regress_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// calibrationReal returns a file of a real set, and reads the figures that come with the set into figures.
func calibrationReal(t *testing.T, name, file string, figures any) []byte {
	t.Helper()
	dir := realSets(t)
	text, err := os.ReadFile(filepath.Join(dir, name, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &struct {
		Computed any `json:"computed_float64"`
	}{figures}); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(filepath.Join(dir, name, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// calibrationTable returns the rows of a table, and its head.
func calibrationTable(t *testing.T, text []byte) (head []string, rows [][]string) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatal(len(all), err)
	}
	return all[0], all[1:]
}

func calibrationNumber(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCalibrationRealNormals checks the coverages and the mean |frequency - level| over 99 levels of two models of
// molecules.
func TestCalibrationRealNormals(t *testing.T) {
	for _, name := range []string{"pernot_qm9_e_test_cal", "pernot_logp_10k_a_ls_gcn_test_cal"} {
		var want struct {
			MACE                       float64 `json:"pit_mace99"`
			Cov50, Cov80, Cov90, Cov95 float64
		}
		_, rows := calibrationTable(t, calibrationReal(t, name, "table.csv", &want))
		p := &metrics.Predictions{Kind: metrics.Normals}
		p.Rows, p.Classes = len(rows), 2
		for _, row := range rows {
			p.F64 = append(p.F64, calibrationNumber(t, row[0]), calibrationNumber(t, row[1]))
		}
		c := calibrationOf(t, p, &regress.CalibrationOptions{Bins: 100})
		k, m := c.Curve(), c.Central()
		if mace := k.Area(regress.AreaPlain) * 100 / 99; !(math.Abs(mace-want.MACE) < 1e-14) {
			t.Errorf("%s: mean distance %.17g, want %.17g", name, mace, want.MACE)
		}
		for p, cover := range map[int]float64{50: want.Cov50, 80: want.Cov80, 90: want.Cov90, 95: want.Cov95} {
			if m.Frequencies[p] != cover {
				t.Errorf("%s: %v within %d%%, want %v", name, m.Frequencies[p], p, cover)
			}
		}
	}
}

// TestCalibrationRealQuantiles checks the coverages of COVID-19 forecasts by four models.
func TestCalibrationRealQuantiles(t *testing.T) {
	var want struct {
		Models []struct {
			Model, Target string
			N             int64
			Cov50, Cov90  float64
		} `json:"by_model"`
	}
	head, rows := calibrationTable(t, calibrationReal(t, "covid_eu_quantiles23", "table.csv", &want))
	place := map[string]int{}
	var levels []float64
	first := 0
	for i, name := range head {
		place[name] = i
		if q, ok := strings.CutPrefix(name, "q0."); ok {
			if levels == nil {
				first = i
			}
			levels = append(levels, calibrationNumber(t, "0."+q))
		}
	}
	if len(want.Models) != 7 {
		t.Error(len(want.Models), "models")
	}
	for _, w := range want.Models {
		p := &metrics.Predictions{Kind: metrics.Quantiles}
		p.Classes = len(levels)
		for _, row := range rows {
			if row[place["model"]] != w.Model || row[place["target_type"]] != w.Target {
				continue
			}
			p.Rows++
			p.Observed = append(p.Observed, calibrationNumber(t, row[place["observed"]]))
			for _, v := range row[first : first+len(levels)] {
				p.F64 = append(p.F64, calibrationNumber(t, v))
			}
		}
		c := calibrationOf(t, p, &regress.CalibrationOptions{Levels: levels})
		if c.Len() != w.N || len(levels) != 23 {
			t.Errorf("%s: %d rows, want %d", w.Model, c.Len(), w.N)
		}
		found := 0
		m := c.Central()
		for j, l := range m.Levels {
			for p, cover := range map[float64]float64{0.5: w.Cov50, 0.9: w.Cov90} {
				if math.Abs(l-p) < 1e-9 {
					if found++; !(math.Abs(m.Frequencies[j]-cover) < 1e-15) {
						t.Errorf("%s: %v within %v, want %v", w.Model, m.Frequencies[j], p, cover)
					}
				}
			}
		}
		if found != 2 || len(m.Levels) != 12 {
			t.Errorf("intervals of %v", m.Levels)
		}
	}
}

// TestCalibrationRealSamples checks how often the rain was below, and how often above, all members of an ensemble.
func TestCalibrationRealSamples(t *testing.T) {
	var want struct {
		Below float64 `json:"frac_below"`
		Above float64 `json:"frac_above"`
	}
	numbers := func(file string) (v []float64) {
		b := calibrationReal(t, "monsoon_precip_ens51", file, &want)
		head := 10 + int(binary.LittleEndian.Uint16(b[8:]))
		for b = b[head:]; len(b) >= 8; b = b[8:] {
			v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		return v
	}
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: numbers("obs.npy")}
	p.Rows, p.Classes = len(p.Observed), 51
	columns := numbers("members.npy")
	p.F64 = make([]float64, len(columns))
	for i, v := range columns { // the file is in Fortran order
		p.F64[i%p.Rows*51+i/p.Rows] = v
	}
	k := calibrationOf(t, p, &regress.CalibrationOptions{Bins: 52}).Curve()
	if below, above := k.Frequencies[1], 1-k.Frequencies[51]; below != want.Below || !(math.Abs(above-want.Above) < 1e-15) {
		t.Errorf("%v below all and %v above, want %v and %v", below, above, want.Below, want.Above)
	}
}
