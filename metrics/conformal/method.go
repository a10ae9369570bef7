package conformal

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// Score is the way in which a method scores an outcome.
type Score uint8

const (
	// LAC scores a class by 1 - p. Its sets are the smallest on average, and are often empty or too small for hard rows (Sadinle, Lei and
	// Wasserman 2019).
	LAC Score = iota
	// APS scores a class by the sum of the probabilities from the top class to it, so that hard rows get larger sets (Romano, Sesia and
	// Candès 2020).
	APS
	// RAPS adds to APS Lambda for each rank beyond K, so that no set is large because of a long tail (Angelopoulos, Bates, Malik and Jordan
	// 2021).
	RAPS
	// Split scores a number by its distance from the forecast, |y - m|. All intervals have one width (Lei et al. 2018).
	Split
	// Normalized scores a number by |y - m| / s: intervals are as wide as the forecast's standard deviations say (Lei et al. 2018).
	Normalized
	// CQR scores a number by how far it is outside two quantiles of the forecast, max(l - y, y - h), below 0 inside. Intervals are these
	// quantiles, moved apart or together (Romano, Patterson and Candès 2019).
	CQR
	scores
)

var scoreNames = [scores]string{"lac", "aps", "raps", "split", "normalized", "cqr"}

// String returns the name of the score: lac, aps, raps, split, normalized or cqr.
func (s Score) String() string {
	if s < scores {
		return scoreNames[s]
	}
	return "Score(" + strconv.Itoa(int(s)) + ")"
}

// Classes reports whether the score is of classes, not of numbers.
func (s Score) Classes() bool { return s <= RAPS }

// Method is a score with its options. The zero value is LAC.
type Method struct {
	Score Score
	// Randomized subtracts u p from the scores of APS and RAPS, where p is the probability of the class and u a number in (0,1) that depends
	// on Seed and the number of the row alone. Sets then cover as much as promised and not more, but a row's set depends on chance, and some
	// are empty.
	Randomized bool
	// KeepLast does so in the fit only: sets of APS and RAPS always keep the class at which the sum passes the threshold. No set is empty, and
	// sets cover more than promised. This is the default of MAPIE.
	KeepLast bool
	// ByClass finds a threshold for each class from the rows of this class, so that the promise holds for each class.
	ByClass bool
	// NonEmpty puts the top class into every set that would be empty.
	NonEmpty bool
	Lambda   float64 // of RAPS; 0 means 0.01
	K        int     // of RAPS; 0 means 5
	Seed     uint64  // of Randomized and KeepLast
}

// Descriptor describes a method.
type Descriptor struct {
	Name, Short, Formula, Options, Takes, Source string
}

const (
	ofClasses   = "classes, or P(y = 1)"
	classOption = "by_class, nonempty"
	drawOption  = "randomized, keep_last, " + classOption
)

// Descriptors returns the descriptors of all methods.
func Descriptors() []Descriptor {
	return []Descriptor{
		{"lac", "the smallest sets on average", "1 - p_y", classOption, ofClasses, "Sadinle, Lei and Wasserman 2019"},
		{"aps", "larger sets for rows that are harder", "sum of p from the top class to y", drawOption, ofClasses, "Romano, Sesia and Candès 2020"},
		{"raps", "the same without the long tails", "aps + lambda max(0, rank of y - k)", "lambda=WEIGHT, k=RANK, " + drawOption, ofClasses, "Angelopoulos, Bates, Malik and Jordan 2021"},
		{"split", "intervals of one width", "|y - m|", "", "means", "Lei et al. 2018"},
		{"normalized", "intervals as wide as the standard deviations say", "|y - m| / s", "", "means and standard deviations", "Lei et al. 2018"},
		{"cqr", "two quantiles, moved apart or together", "max(l - y, y - h)", "", "quantiles", "Romano, Patterson and Candès 2019"},
	}
}

// Names returns the names of all methods.
func Names() []string { return slices.Clone(scoreNames[:]) }

// String returns the method with the options that differ from the default, in the syntax of Parse: "aps(randomized,by_class)".
func (m Method) String() string {
	var l []string
	if m.Lambda != 0 {
		l = append(l, "lambda="+strconv.FormatFloat(m.Lambda, 'g', -1, 64))
	}
	if m.K != 0 {
		l = append(l, "k="+strconv.Itoa(m.K))
	}
	for _, w := range []struct {
		name string
		on   bool
	}{{"randomized", m.Randomized}, {"keep_last", m.KeepLast}, {"by_class", m.ByClass}, {"nonempty", m.NonEmpty}} {
		if w.on {
			l = append(l, w.name)
		}
	}
	if l == nil {
		return m.Score.String()
	}
	return m.Score.String() + "(" + strings.Join(l, ",") + ")"
}

// Parse reads a method with its options, such as "raps(lambda=0.01,k=5,randomized)". The Seed is not part of it.
func Parse(s string) (Method, error) {
	var m Method
	name, rest, options := strings.Cut(strings.TrimSpace(s), "(")
	if name = strings.TrimSpace(name); name == "normalised" {
		name = "normalized"
	}
	at := slices.Index(scoreNames[:], name)
	if at < 0 {
		return m, fmt.Errorf("there is no method %q; there are %s", name, strings.Join(scoreNames[:], ", "))
	}
	m.Score = Score(at)
	if !options {
		return m, nil
	}
	if !strings.HasSuffix(rest, ")") {
		return m, fmt.Errorf("%s: the parenthesis does not end", s)
	}
	seen := map[string]bool{}
	for _, w := range strings.Split(strings.TrimSuffix(rest, ")"), ",") {
		option, value, valued := strings.Cut(strings.TrimSpace(w), "=")
		if seen[option] {
			return m, fmt.Errorf("%s: option %s is given twice", s, option)
		}
		seen[option] = true
		var err error
		switch {
		case option == "lambda" && valued:
			m.Lambda, err = strconv.ParseFloat(value, 64)
			if err != nil || !(m.Lambda > 0 && m.Lambda <= 1e6) {
				return m, fmt.Errorf("%s: lambda is %q; it is a number above 0", s, value)
			}
		case option == "k" && valued:
			m.K, err = strconv.Atoi(value)
			if err != nil || m.K < 1 {
				return m, fmt.Errorf("%s: k is %q; it is a rank, 1 or more", s, value)
			}
		case option == "randomized" && !valued:
			m.Randomized = true
		case option == "keep_last" && !valued:
			m.KeepLast = true
		case option == "by_class" && !valued:
			m.ByClass = true
		case option == "nonempty" && !valued:
			m.NonEmpty = true
		default:
			return m, fmt.Errorf("%s has no option %q; its options are %s", name, w, orNone(Descriptors()[at].Options))
		}
	}
	return m, m.check()
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// check returns an error for options that the score does not have.
func (m Method) check() error {
	switch s := m.Score; {
	case s >= scores:
		return errors.New("there is no such score")
	case (m.Lambda != 0 || m.K != 0) && s != RAPS:
		return fmt.Errorf("lambda and k are of raps, and the method is %s", s)
	case (m.Randomized || m.KeepLast) && s != APS && s != RAPS:
		return fmt.Errorf("randomized and keep_last are of aps and raps, and the method is %s", s)
	case m.Randomized && m.KeepLast:
		return errors.New("randomized removes the last class at random, and keep_last keeps it; give one")
	case (m.ByClass || m.NonEmpty) && !s.Classes():
		return fmt.Errorf("by_class and nonempty are of classes, and the method is %s", s)
	case m.Lambda < 0 || m.Lambda-m.Lambda != 0 || m.K < 0:
		return errors.New("lambda and k are not below 0")
	}
	return nil
}

// accepts returns an error unless the method takes rows of this kind. Split takes means as one column of quantiles too.
func (m Method) accepts(k metrics.Kind) error {
	ok := false
	switch m.Score {
	case LAC, APS, RAPS:
		ok = k < metrics.Samples
	case Split:
		ok = k == metrics.Normals || k == metrics.Quantiles
	case Normalized:
		ok = k == metrics.Normals
	case CQR:
		ok = k == metrics.Quantiles
	}
	if !ok {
		return fmt.Errorf("%s takes %s, and these rows are of the kind %s", m.Score, Descriptors()[m.Score].Takes, k)
	}
	return nil
}

// Penalty returns what RAPS adds to the score of the class at a rank from 1: Lambda max(0, rank - K), with the defaults of both; 0 for other
// methods.
func (m *Method) Penalty(rank int) float64 {
	if m.Score != RAPS {
		return 0
	}
	lambda, k := m.Lambda, m.K
	if lambda == 0 {
		lambda = 0.01
	}
	if k == 0 {
		k = 5
	}
	return float64(lambda * math.Max(0, float64(rank-k)))
}

// What random numbers are for: rows of a calibration set and of later predictions may have the same numbers.
const (
	calibrating uint64 = 0x63616c6962726174
	applying    uint64 = 0x6170706c79696e67
)

// uniform returns a number in (0,1) for a row, by the finalizer of MurmurHash3.
func uniform(seed, what uint64, row int64) float64 {
	h := (seed*0x9e3779b97f4a7c15 ^ what) + uint64(row)
	for range 2 {
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 33
	}
	return (float64(h>>12) + 0.5) * 0x1p-52
}
