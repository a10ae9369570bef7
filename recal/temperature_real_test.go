package recal_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/recal"
)

// temperatureNumbers reads what a NumPy file has behind its header.
func temperatureNumbers(t *testing.T, path string, into any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = b[10+int(binary.LittleEndian.Uint16(b[8:])):]
	if err := binary.Read(bytes.NewReader(b), binary.LittleEndian, into); err != nil {
		t.Fatal(err)
	}
}

// TestTemperatureRealSets fits to a half of each set: on the other half NLL and ECE fall.
func TestTemperatureRealSets(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	for _, c := range []struct {
		name          string
		rows, classes int
		half          bool
	}{{"netcal_c10_wrn16_4", 10000, 10, false}, {"netcal_c100_densenet_bc100", 10000, 100, false}, {"cl_c10_resnet50_cv50k", 50000, 10, true}} {
		p := &metrics.Predictions{Kind: metrics.Probs, Labels: make([]int32, c.rows)}
		p.Rows, p.Classes = c.rows, c.classes
		probs, labels := filepath.Join(dir, c.name, "probs.npy"), make([]int64, c.rows)
		if c.half {
			p.F16 = make([]uint16, c.rows*c.classes)
			temperatureNumbers(t, probs, p.F16)
		} else {
			p.F32 = make([]float32, c.rows*c.classes)
			temperatureNumbers(t, probs, p.F32)
		}
		temperatureNumbers(t, filepath.Join(dir, c.name, "labels.npy"), labels)
		for i, y := range labels {
			p.Labels[i] = int32(y)
		}
		train, test := recal.Folds{K: 2, Seed: 1}.Split(recal.InMemory(p), 0)
		before, beforeECE := temperatureScores(t, recal.NewTemperature(1, c.classes), test)
		for _, method := range []recal.Method{recal.Temperature{}, recal.ETS{}} {
			m, err := method.Fit(train, nil)
			if err != nil {
				t.Fatal(err)
			}
			nll, ece := temperatureScores(t, m, test)
			t.Logf("%s, %v: %s, %d reads, %d rows left out; NLL %.5f to %.5f, ECE %.5f to %.5f", c.name, method, temperatureParameters(t, m),
				m.Fit().Reads, m.Fit().LeftOut, before, nll, beforeECE, ece)
			if !(nll < before && ece < beforeECE) {
				t.Errorf("%s, %v: NLL %v to %v, ECE %v to %v", c.name, method, before, nll, beforeECE, ece)
			}
			if _, ok := m.(*recal.TemperatureMap); ok && m.Fit().Reads > 8 {
				t.Errorf("%s: %d reads", c.name, m.Fit().Reads)
			}
		}
	}
}

// temperatureScores returns the mean NLL and the ECE of what a map makes of data.
func temperatureScores(t *testing.T, m recal.Map, d recal.Data) (nll, ece float64) {
	t.Helper()
	src, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all := &metrics.Predictions{}
	for applied := recal.Applied(m, src); ; {
		c, err := applied.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all.F64, all.Labels = append(all.F64, c.F64...), append(all.Labels, c.Labels...)
		all.Kind, all.Rows, all.Classes = c.Kind, all.Rows+c.Rows, c.Classes
	}
	if nll, err = score.NLL(all, nil); err != nil {
		t.Fatal(err)
	}
	if ece, err = calib.ECE(all, nil); err != nil {
		t.Fatal(err)
	}
	return nll, ece
}
