package regress_test

import (
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// TestVectorsReal compares with scoringrules 0.10.0 on every second day, and every second row, of rain forecasts with 51 members and ten lead times.
func TestVectorsReal(t *testing.T) {
	const days, leads, members = 517, 10, 51
	observed, columns := pitReal(t, "monsoon_precip_ens51", "obs.npy"), pitReal(t, "monsoon_precip_ens51", "members.npy")
	if len(observed) != days*leads || len(columns) != days*leads*members {
		t.Fatal(len(observed), len(columns))
	}
	p := &metrics.Predictions{Kind: metrics.Multivariate, Dimensions: leads, Scores: metrics.Scores{Classes: (members + 1) * leads}}
	for day := 1; day < days; day += 2 {
		p.Rows++
		for m := range members { // rows are days of the first lead time, then those of the next; members are in Fortran order
			for lead := range leads {
				p.F64 = append(p.F64, columns[m*days*leads+lead*days+day])
			}
		}
		for lead := range leads {
			p.F64 = append(p.F64, observed[lead*days+day])
		}
	}
	energy, variogram := metrics.Must(regress.NewVectors(nil)), metrics.Must(regress.NewVectors(&regress.VectorOptions{Score: regress.Variogram}))
	one := &metrics.Predictions{Kind: metrics.Samples, Scores: metrics.Scores{Classes: members}}
	for i := 1; i < len(observed); i += 2 {
		one.Rows++
		one.Observed = append(one.Observed, observed[i])
		for m := range members {
			one.F64 = append(one.F64, columns[m*days*leads+i])
		}
	}
	heavy := metrics.Must(regress.NewWeightedCRPS(&regress.WeightedCRPSOptions{From: 10, To: math.Inf(1)}))
	passInto(t, p, energy, variogram)
	passInto(t, one, heavy)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"energy score", energy.Value(regress.Energy), 6.588041720984472},
		{"fair energy score", energy.Value(regress.EnergyFair), 6.5009051469479076},
		{"variogram score", variogram.Value(regress.Variogram), 56.89189734738286},
		{"CRPS from 10 mm on", heavy.Value(), 0.3375979232998468},
	} {
		if !quantileNear(c.got, c.want, 1e-12) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
