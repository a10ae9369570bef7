package regress_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

type statedRow struct {
	Mean     []float64
	Cov      [][]float64
	Y        []float64
	NLL, DSS float64
}

func readStated(t testing.TB) [][]statedRow {
	t.Helper()
	b, err := os.ReadFile("../../testdata/oracle/stated.json")
	if err != nil {
		t.Fatal(err)
	}
	var o struct{ Sets [][]statedRow }
	if err := json.Unmarshal(b, &o); err != nil || len(o.Sets) != 4 {
		t.Fatal(err, len(o.Sets))
	}
	return o.Sets
}

func statedRows(rows []statedRow) *metrics.Predictions {
	d := len(rows[0].Y)
	p := &metrics.Predictions{Kind: metrics.MultivariateNormals, Dimensions: d, Scores: metrics.Scores{Rows: len(rows), Classes: d * (d + 2)}}
	for _, r := range rows {
		p.F64 = append(p.F64, r.Mean...)
		for _, c := range r.Cov {
			p.F64 = append(p.F64, c...)
		}
		p.F64 = append(p.F64, r.Y...)
	}
	return p
}

// TestNormalVectorsGolden compares with scipy and scoringrules, row by row, and in the mean; also through bytes, in parts, and with weights.
func TestNormalVectorsGolden(t *testing.T) {
	for _, rows := range readStated(t) {
		p := statedRows(rows)
		dss, nll := rowValues(t, "dawid_sebastiani", p, nil), rowValues(t, "multivariate_nll", p, nil)
		mean, weighted := 0.0, 0.0
		for i, r := range rows {
			if math.Abs(dss[i]-r.DSS) > 1e-10*max(1, math.Abs(r.DSS)) || math.Abs(nll[i]-r.NLL) > 1e-10*max(1, math.Abs(r.NLL)) {
				t.Errorf("%d numbers, row %d: %v and %v, want %v and %v", p.Dimensions, i, dss[i], nll[i], r.DSS, r.NLL)
			}
			mean += r.NLL / float64(len(rows))
			p.Weights = append(p.Weights, float64(1+i%2))
			weighted += r.NLL * p.Weights[i] / 12
		}
		for _, w := range []bool{false, true} {
			q, want := *p, weighted
			if !w {
				q.Weights, want = nil, mean
			}
			whole := regress.NewNormalVectors()
			passInto(t, &q, whole)
			sum := regress.NewNormalVectors()
			for _, cut := range [][2]int{{5, 8}, {0, 5}} {
				part, a := q.Slice(cut[0], cut[1]), regress.NewNormalVectors()
				passInto(t, &part, a)
				var b regress.NormalVectors
				if err := errors.Join(b.UnmarshalBinary(quantileState(t, a)), sum.Merge(&b)); err != nil {
					t.Fatal(err)
				}
			}
			i := whole.NLLInterval(0.95)
			if !bytes.Equal(quantileState(t, whole), quantileState(t, sum)) || math.Abs(sum.NLL()-want) > 1e-10*max(1, math.Abs(want)) || !(i.Low < sum.NLL() && sum.NLL() < i.High) {
				t.Errorf("%d numbers, weights %v: %v in %v, want %v", p.Dimensions, w, sum.NLL(), i, want)
			}
		}
	}
	if a := regress.NewNormalVectors(); a.NLL() == a.NLL() || a.Reason() == "" {
		t.Error("no rows have a score")
	}
}

// TestNormalVectorsFaults: a covariance that is none is an error that names the row and the numbers.
func TestNormalVectorsFaults(t *testing.T) {
	rows := readStated(t)[1]
	for _, c := range []struct {
		cov  [][]float64
		want string
	}{
		{[][]float64{{1, 0}, {0, -1}}, "row 3, covariance of numbers 1 and 1: variance is -1; it must be above 0"},
		{[][]float64{{0, 0}, {0, 1}}, "row 3, covariance of numbers 0 and 0: variance is 0; it must be above 0"},
		{[][]float64{{1, 2}, {2, 1}}, "row 3, covariance of numbers 1 and 1: the covariance matrix is not positive definite"},
		{[][]float64{{1, 1}, {1, 1}}, "row 3, covariance of numbers 1 and 1: the covariance matrix is not positive definite"},
		{[][]float64{{1, 0}, {0.5, 1}}, "row 3, covariance of numbers 1 and 0: it is 0.5, and its mirror image is not"},
		{[][]float64{{1, math.NaN()}, {0.5, 1}}, "row 3, covariance of numbers 0 and 1: it is NaN"},
	} {
		bad := slices.Clone(rows)
		bad[3].Cov = c.cov
		err := metrics.NewPass(nil, regress.NewNormalVectors()).Add(statedRows(bad))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.cov, err, c.want)
		}
		a := regress.NewNormalVectors()
		if err := metrics.NewPass(&metrics.Options{Drop: true}, a).Add(statedRows(bad)); err != nil || a.Len() != 7 {
			t.Errorf("%v: %v, %d rows", c.cov, err, a.Len())
		}
	}
	// Rounding to float32 leaves a matrix what it is.
	p := statedRows(rows)
	for _, v := range p.F64 {
		p.F32 = append(p.F32, float32(v))
	}
	p.F64 = nil
	if err := metrics.NewPass(nil, regress.NewNormalVectors()).Add(p); err != nil {
		t.Error(err)
	}
}

func BenchmarkNormalVectors(b *testing.B) {
	rows := readStated(b)[3]
	p := statedRows(rows)
	for len(p.F64) < 48*8*1000 {
		p.F64 = append(p.F64, p.F64...)
	}
	p.Rows = len(p.F64) / 48
	for b.Loop() {
		if err := metrics.NewPass(nil, regress.NewNormalVectors()).Add(p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(p.Rows), "ns/row")
}
