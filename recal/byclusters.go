package recal

import (
	"errors"
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/clustered"
)

// ByClusters returns the map with a standard error that lets the rows of a cluster depend on each other. d is what the map was fitted to, and
// its chunks have Clusters; it is read once more. Maps other than TemperatureMap and SigmaMap, which have no intervals, are returned as they
// are.
//
// The sums of a fit's standard error are then those of clusters: for a temperature sqrt(sum_g (sum w_i g_i)^2/(1 - n_g/n)) / (beta sum w_i c_i)
// over clusters g, by the letters of TemperatureMap.Interval. Intervals are by Student's distribution, with degrees of freedom by the sizes
// of clusters, as those of package clustered. One cluster has no standard error.
func ByClusters(m Map, d Data, o *Options) (Map, error) {
	switch m := m.(type) {
	case *TemperatureMap:
		// At the fit the derivative by beta of a row's NLL is its NLL minus the entropy of its probabilities, divided by beta.
		slope := func(b *metrics.Block, i int) float64 { return b.Stats.NLL[i] - b.Stats.Entropy[i] }
		sums, err := clusterSums(m, d, o, metrics.NeedSpread, slope, func(b *metrics.Block, i int) float64 {
			s := slope(b, i)
			if b.Weights != nil {
				return float64(b.Weights[i] * float64(s*s))
			}
			return s * s
		})
		if err != nil {
			return nil, err
		}
		_, se, _ := sums.Mean("0")
		squares, _, _ := sums.Mean("1")
		by := *m
		// The error of independent rows, of which the sum of squares is replaced.
		by.logSE = float64(m.logSE*se) / math.Sqrt(squares/sums.Weight())
		if by.df = sums.DF(); !(by.df > 0) || by.logSE != by.logSE {
			by.logSE, by.df = nan, 0
		}
		return &by, nil
	case *SigmaMap:
		sums, err := clusterSums(m, d, o, 0, func(b *metrics.Block, i int) float64 {
			if m.m.AsCoded {
				return math.Abs(b.Normal.Z[i]) / b.Normal.SD[i]
			}
			return b.Normal.Z[i] * b.Normal.Z[i]
		})
		if err != nil {
			return nil, err
		}
		mean, se, _ := sums.Mean("0")
		by := *m
		by.relative = se / mean
		if by.df = sums.DF(); !(by.df > 0) || by.relative != by.relative {
			by.relative, by.df = nan, 0
		}
		return &by, nil
	}
	return m, nil
}

// clusterSums reads the rows that the map gives, and returns sums of losses by cluster. Losses are named by their numbers.
func clusterSums(m Map, d Data, o *Options, need metrics.Need, losses ...func(b *metrics.Block, i int) float64) (*clustered.Sums, error) {
	var opt clustered.Options
	for k, f := range losses {
		opt.Losses = append(opt.Losses, metrics.RowMetric{Name: string(rune('0' + k)), Need: need, New: func() func(dst []float64, b *metrics.Block) {
			return func(dst []float64, b *metrics.Block) {
				for i := range dst {
					dst[i] = f(b, i)
				}
			}
		}})
	}
	opt.Any = true
	sums := clustered.New(opt)
	src, err := d.Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	threads := 0
	if o != nil {
		threads = o.Threads
	}
	return sums, metrics.NewPass(&metrics.Options{Threads: threads}, sums).AddSource(Applied(m, src))
}

// quantile returns the two-sided quantile of a level: Student's with degrees of freedom, and of normal numbers for 0 of them.
func quantile(level, df float64) float64 {
	if df > 0 {
		return clustered.Quantile(level, df)
	}
	return metrics.Z(level)
}

var errFreedom = errors.New("the degrees of freedom are no number above 0")

// goodFreedom reports whether a file may have these degrees of freedom; 0 stands for none.
func goodFreedom(df float64) bool { return df == 0 || df > 0 && df <= math.MaxFloat64 }
