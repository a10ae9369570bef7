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

// errorsFile returns the contents of a file of a real set, which is not part of the repository.
func errorsFile(t *testing.T, set, name string) []byte {
	t.Helper()
	dir := realSets(t)
	b, err := os.ReadFile(filepath.Join(dir, set, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// errorsFloats returns the numbers of a .npy file of version 1 with float64 values.
func errorsFloats(t *testing.T, b []byte) []float64 {
	t.Helper()
	head := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	if !bytes.Contains(b[:head], []byte("'<f8'")) {
		t.Fatalf("%q", b[:head])
	}
	v := make([]float64, (len(b)-head)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[head+8*i:]))
	}
	return v
}

// TestErrorsRealSamples compares with figures computed by NumPy for 5,170 forecasts of rain with 51 members each.
func TestErrorsRealSamples(t *testing.T) {
	const set = "monsoon_precip_ens51"
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: errorsFloats(t, errorsFile(t, set, "obs.npy"))}
	columns := errorsFloats(t, errorsFile(t, set, "members.npy"))
	p.Rows, p.Classes = len(p.Observed), 51
	p.F64 = make([]float64, len(columns))
	for i, v := range columns { // the file is in Fortran order
		p.F64[i%p.Rows*51+i/p.Rows] = v
	}
	var meta struct {
		Computed struct {
			RMSE float64 `json:"rmse_mean"`
			Bias float64 // predicted - observed
		} `json:"computed_float64"`
	}
	if err := json.Unmarshal(errorsFile(t, set, "meta.json"), &meta); err != nil {
		t.Fatal(err)
	}
	e := errorsOf(t, p, nil)
	if v := e.Value(regress.RMSE); !errorsNear(v, meta.Computed.RMSE, 1e-12) {
		t.Errorf("%v, want %v", v, meta.Computed.RMSE)
	}
	if v := e.Value(regress.Bias); !errorsNear(v, meta.Computed.Bias, 1e-12) {
		t.Errorf("%v, want %v", v, meta.Computed.Bias)
	}
}

// TestErrorsRealQuantiles compares with figures that come with the set of the European COVID-19 Forecast Hub, by model and
// target. They agree with those that scoringutils publishes in three digits.
func TestErrorsRealQuantiles(t *testing.T) {
	const set = "covid_eu_quantiles23"
	rows, err := csv.NewReader(bytes.NewReader(errorsFile(t, set, "table.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var o regress.ErrorOptions
	at := map[string]int{}
	var quantiles []int
	for j, name := range rows[0] {
		at[name] = j
		if level, err := strconv.ParseFloat(strings.TrimPrefix(name, "q"), 64); err == nil && name[0] == 'q' {
			o.Levels, quantiles = append(o.Levels, level), append(quantiles, j)
		}
	}
	if len(o.Levels) != 23 {
		t.Fatal(rows[0])
	}
	var meta struct {
		Computed struct {
			By []struct {
				Model, Target string
				N             int
				AEMedian      float64 `json:"ae_median"`
			} `json:"by_model"`
		} `json:"computed_float64"`
	}
	if err := json.Unmarshal(errorsFile(t, set, "meta.json"), &meta); err != nil {
		t.Fatal(err)
	}
	number := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range meta.Computed.By {
		p := &metrics.Predictions{Kind: metrics.Quantiles}
		p.Classes = len(quantiles)
		for _, r := range rows[1:] {
			if r[at["model"]] != c.Model || r[at["target_type"]] != c.Target {
				continue
			}
			p.Rows++
			p.Observed = append(p.Observed, number(r[at["observed"]]))
			for _, j := range quantiles {
				p.F64 = append(p.F64, number(r[j]))
			}
		}
		e := metrics.Must(regress.NewErrors(&o))
		if err := metrics.NewPass(nil, e).Add(p); err != nil {
			t.Fatal(err)
		}
		if v := e.Value(regress.AEMedian); p.Rows != c.N || !errorsNear(v, c.AEMedian, 1e-12) {
			t.Errorf("%s, %s: %v of %d rows, want %v of %d", c.Model, c.Target, v, p.Rows, c.AEMedian, c.N)
		}
	}
	if len(meta.Computed.By) != 7 {
		t.Errorf("%d models and targets", len(meta.Computed.By))
	}
}
