package conformal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// listed returns the scores of all classes of a row by the definition: classes from the top, of equals the lower number first, and the sum up to
// each.
func listed(m *Method, p []float64, u float64) (order []int, scores []float64) {
	for c := range p {
		order = append(order, c)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return 0
	})
	scores = make([]float64, len(p))
	sum, most := 0.0, math.Inf(-1)
	for i, c := range order {
		sum += p[c]
		most = math.Max(most, sum-float64(u*p[c])+m.Penalty(i+1))
		scores[c] = most
	}
	return order, scores
}

// Scores and sets are those of the definition, bit for bit: of many and few classes, of rows with ties and zeros, of rows that do not sum to 1, for
// thresholds on scores and between them.
func TestSortedScoresAreTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, name := range []string{"aps", "raps(k=3)", "aps(randomized)", "aps(keep_last)", "raps(lambda=0.05,k=1,keep_last)", "raps(randomized,nonempty)", "aps(by_class)", "raps(k=2,by_class,nonempty)", "aps(keep_last,by_class)"} {
		m, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		s := rowScorer{m: &m}
		sizes := map[int]int{}
		for n := range 900 {
			k := []int{2, 3, 10, 25, 40, 300}[n%6]
			p, sum := make([]float64, k), 0.0
			for c := range p {
				switch n / 6 % 4 {
				case 0:
					p[c] = math.Pow(r.Float64(), 6)
				case 1:
					p[c] = float64(r.IntN(4)) // ties and zeros
				case 2:
					p[c] = math.Pow(r.Float64(), 60)
				default:
					p[c] = float64(1+r.IntN(3)) / 3
				}
				sum += p[c]
			}
			if n%3 != 0 && sum > 0 {
				for c := range p {
					p[c] /= sum
				}
			}
			u := 0.0
			if m.Randomized {
				u = r.Float64()
			}
			order, scores := listed(&m, p, u)
			for c := range p {
				if got := s.class(p, c, u); got != scores[c] {
					t.Fatalf("%s: the score of class %d of %v is %v, want %v", name, c, p, got, scores[c])
				}
			}
			thresholds := []float64{[]float64{r.Float64(), scores[r.IntN(k)], math.Inf(1), 1}[r.IntN(4)]}
			if m.ByClass {
				for range k - 1 {
					thresholds = append(thresholds, thresholds[0]*r.Float64())
				}
			}
			want := make([]bool, k)
			before := math.Inf(-1)
			for _, c := range order {
				q := thresholds[min(c, len(thresholds)-1)]
				if m.KeepLast {
					want[c] = before < q
				} else {
					want[c] = scores[c] <= q
				}
				before = scores[c]
			}
			if m.NonEmpty && !slices.Contains(want, true) {
				want[order[0]] = true
			}
			got := make([]bool, k)
			s.fill(got, p, u, thresholds)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: the set of %v at %v is %v, want %v", name, p, thresholds, got, want)
			}
			size := 0
			for _, in := range want {
				if in {
					size++
				}
			}
			sizes[min(size, 5)]++
		}
		for size := range 6 {
			if sizes[size] == 0 && (size > 0 || m.Randomized && !m.NonEmpty) {
				t.Errorf("%s: no set has %d classes", name, size)
			}
		}
	}
}
