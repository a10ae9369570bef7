package rank

import (
	"errors"
	"fmt"
	"math"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/internal/state"
)

// Detector is an out-of-distribution score: the higher, the further a row is from what the model knows.
type Detector uint8

// The detectors. All except MaxSoftmax and Entropy require logits of two classes or more, because probabilities lose the
// scale of the logits.
const (
	MaxSoftmax Detector = iota // 1 - the largest probability (Hendrycks and Gimpel 2017)
	MaxLogit                   // minus the largest logit (Hendrycks et al. 2022)
	Entropy                    // entropy of the probabilities, in nats
	Energy                     // -ln sum exp(logit) (Liu et al. 2020)
	// DempsterShafer is K/(K + sum exp(logit)) for K classes (Sensoy et al. 2018). It is kept as ln sum exp(logit), which
	// separates rows whose score rounds to 0 or 1 in float64. It ranks rows exactly as Energy does.
	DempsterShafer
	detectors
)

// String returns the detector's name: "max_softmax", "max_logit", "entropy", "energy", "dempster_shafer".
func (d Detector) String() string {
	switch d {
	case MaxSoftmax:
		return "max_softmax"
	case MaxLogit:
		return "max_logit"
	case Entropy:
		return "entropy"
	case Energy:
		return "energy"
	case DempsterShafer:
		return "dempster_shafer"
	}
	return fmt.Sprintf("Detector(%d)", uint8(d))
}

// logits reports whether the detector requires logits.
func (d Detector) logits() bool { return d == MaxLogit || d == Energy || d == DempsterShafer }

// Scores accumulates a detector's scores for one set of rows, in or out of distribution. It counts the rows of each distinct
// score up to MaxExact scores; beyond that, scores that differ only in the last bits of their keys are counted together.
// Labels and decisions are ignored. NewOOD compares two sets. Scores is a metrics.Accumulator.
//
// It takes about 20 bytes per distinct score, or 60 with weights, plus 12 MiB for many rows. Its state takes at most 10 bytes per score, or about
// 30 with weights.
type Scores struct {
	detector Detector
	classes  int // of the predictions; 0 before the first row
	weighted bool
	logits   logits
	none     int64 // rows without a valid score
	table    table[tallied, *tallied]
}

// tallied counts the rows of a score.
type tallied struct{ n int64 }

func (c *tallied) merge(o *tallied) { c.n += o.n }

func (c *tallied) add(_, _ float64) { c.n++ }

func (c *tallied) addFew(f *exact.Few) { c.n += f.N() }

var _ metrics.Accumulator = (*Scores)(nil)

// NewScores returns an empty accumulator. It panics if d is not a detector.
func NewScores(d Detector) *Scores {
	if d >= detectors {
		panic("rank: there is no such detector")
	}
	return &Scores{detector: d}
}

// Detector returns the detector of s.
func (s *Scores) Detector() Detector { return s.detector }

// Needs returns the columns that the detector reads.
func (s *Scores) Needs() metrics.Need {
	switch s.detector {
	case MaxSoftmax:
		return metrics.NeedLogit
	case Entropy:
		return metrics.NeedSpread | metrics.NeedLogit
	case MaxLogit:
		return metrics.NeedPeak
	}
	return 0
}

// Empty returns an accumulator without rows for the same detector.
func (s *Scores) Empty() metrics.Accumulator { return NewScores(s.detector) }

// Len returns the number of rows seen.
func (s *Scores) Len() int64 {
	n := s.none + int64(len(s.table.log.keys)) + s.table.waiting.rows
	for i := range s.table.sums {
		n += s.table.sums[i].n
	}
	return n
}

// Size estimates the memory in bytes.
func (s *Scores) Size(x metrics.Extent) int64 { return s.table.size(x) }

// Exact reports whether each distinct score has its own count.
func (s *Scores) Exact() bool { return s.table.exact() }

// Weighted reports whether the rows have weights.
func (s *Scores) Weighted() bool { return s.weighted }

// Reason returns the reason why rows have no score, or "" if all have one. Either a detector that requires logits got
// probabilities or one score per row, or unchecked predictions had a score outside [0,1].
func (s *Scores) Reason() string {
	switch {
	case s.none == 0:
		return ""
	case s.detector.logits():
		return s.detector.String() + " takes logits of two classes or more: give those, or take max_softmax or entropy"
	}
	return fmt.Sprintf("%d of the rows have scores outside [0,1], or none", s.none)
}

// AddBlock adds a block's rows.
func (s *Scores) AddBlock(b *metrics.Block) {
	s.classes, s.weighted = b.Classes, b.Weights != nil
	if s.detector.logits() && (b.Kind != metrics.Logits || b.Classes < 2) {
		s.none += int64(b.Rows)
		return
	}
	if s.logits = noLogits; !s.detector.logits() {
		s.logits = logitsOf(b)
	}
	for i := range b.Rows {
		key, ok := s.key(b, i)
		if !ok {
			s.none++
			continue
		}
		w := 0.0
		if b.Weights != nil {
			w = b.Weights[i]
		}
		s.table.push(key, 0, w)
	}
}

// key returns the key of a row's score, or false if it has none.
func (s *Scores) key(b *metrics.Block, i int) (uint64, bool) {
	v := 0.0
	if s.logits != noLogits {
		v = 0 - math.Abs(b.Peak[i])
		return realKey(v), b.Stats.Tail[i] == b.Stats.Tail[i]
	}
	switch s.detector {
	case MaxSoftmax:
		// Keys as in cells, so that scores near both ends keep their digits; reversed, because the detector's score rises as
		// the probability falls.
		k, ok := unitKey(b.Stats.Top[i], b.Stats.Tail[i])
		return 2*half - k, ok
	case MaxLogit:
		v = -b.Peak[i]
	case Entropy:
		v = b.Stats.Entropy[i]
	default:
		v = -b.Stats.Norm[i]
	}
	return realKey(v), v == v
}

// score returns the score of a key.
func (s *Scores) score(key uint64) float64 {
	if s.logits != noLogits {
		_, tail, entropy := s.logits.sure(-realScore(key))
		if s.detector == Entropy {
			return entropy
		}
		return tail
	}
	switch s.detector {
	case MaxSoftmax:
		_, tail := unitScore(2*half - min(key, 2*half))
		return tail
	case DempsterShafer:
		k := float64(s.classes)
		return k / (k + kernel.Exp64(-realScore(key)))
	}
	return realScore(key)
}

// Merge adds what another *Scores has seen.
func (s *Scores) Merge(a metrics.Accumulator) error {
	o, err := state.Same[*Scores](scoresFormat, a)
	switch {
	case err != nil:
		return err
	case s.detector != o.detector:
		return state.Mismatch(scoresFormat, "of %v and of %v", s.detector, o.detector)
	case o.classes == 0:
		return nil
	case s.classes != 0 && s.logits != o.logits && s.classes == o.classes && s.weighted == o.weighted:
		return state.Mismatch(scoresFormat, "of logits of another type, or of probabilities")
	}
	seen := state.Rows{Classes: s.classes, Weighted: s.weighted}
	if err := seen.Merge(state.Rows{Classes: o.classes, Weighted: o.weighted}, scoresFormat, "classes"); err != nil {
		return err
	}
	s.classes, s.weighted, s.logits = o.classes, o.weighted, o.logits
	s.none += o.none
	s.table.merge(&o.table)
	return nil
}

var scoresFormat = exact.Format{Name: "rank.Scores", Magic: "cOOD", Version: 2}

func (s *Scores) fields(f *exact.Fields) {
	coarse, count := uint8(s.table.coarse), len(s.table.keys)
	exact.Byte(f, &s.detector)
	f.Flags(&s.weighted)
	exact.Byte(f, &s.logits)
	exact.Byte(f, &coarse)
	f.Int(&s.classes)
	f.N(&s.none)
	f.Count(&count, 2)
	if f.Must(s.detector < detectors && s.none <= mostRows && count <= MaxExact && s.logits <= logits64 &&
		(s.classes > 0 || count == 0 && s.none == 0 && !s.weighted) &&
		(s.logits == noLogits || s.classes == 1 && !s.detector.logits()), badOptions); !f.OK() {
		return
	}
	if f.Reading() {
		s.table.prepare(uint(coarse), count, s.weighted)
	}
	rows, last := s.none, uint64(0)
	for i := range count {
		var step, n uint64
		var weight exact.Sum
		if !f.Reading() {
			step, n, weight = s.table.keys[i]-last, uint64(s.table.sums[i].n), s.table.weight(i)
		}
		f.Uvarint(&step)
		f.Uvarint(&n)
		if s.weighted {
			f.Sum(&weight)
		}
		if f.Must(n > 0 && n <= mostRows && rows <= mostRows-int64(n) && last+step >= last && (i == 0 || step > 0) &&
			(!s.weighted || weight.Sign() > 0), badTable); !f.OK() {
			return
		}
		rows += int64(n)
		if last += step; f.Reading() {
			s.table.put(last, tallied{int64(n)}, weight)
		}
	}
	least, most := realKey(math.Inf(-1)), realKey(math.Inf(1))
	switch {
	case s.logits != noLogits:
		most = realKey(0)
	case s.detector == MaxSoftmax:
		least, most = 0, 2*half
	}
	s.table.within(f, least, most)
}

// AppendBinary appends the state.
func (s *Scores) AppendBinary(dst []byte) ([]byte, error) {
	s.table.settle()
	return scoresFormat.Append(dst, s.fields)
}

// UnmarshalBinary replaces s, including its detector, with a state that AppendBinary wrote.
func (s *Scores) UnmarshalBinary(data []byte) error {
	return exact.Replace(scoresFormat, data, s, (*Scores).fields)
}

// OOD measures how well a detector's scores separate out-of-distribution rows, which should score high, from in-distribution
// rows.
type OOD struct{ out, in *Ranking }

var errNoScores = errors.New("rank: scores are missing")

// NewOOD compares the scores of in-distribution rows with those of out-of-distribution rows; neither may receive further
// rows. It returns an error if the two differ in detector or number of classes, if only one of them has weights, if only one
// of them has one logit per row, or if rows have no score (see Scores.Reason). If the scores of a set are no longer kept one
// by one, both sets are compared by the coarser keys. It takes about 100 bytes per score of both sets.
func NewOOD(in, out *Scores) (*OOD, error) {
	switch {
	case in.detector != out.detector:
		return nil, fmt.Errorf("%w: scores of %v and of %v", metrics.ErrMismatch, in.detector, out.detector)
	case in.Reason() != "":
		return nil, fmt.Errorf("%w: in distribution: %s", errNoScores, in.Reason())
	case out.Reason() != "":
		return nil, fmt.Errorf("%w: out of distribution: %s", errNoScores, out.Reason())
	case in.classes != 0 && out.classes != 0 && in.classes != out.classes:
		return nil, fmt.Errorf("%w: scores of %d classes and of %d", metrics.ErrMismatch, in.classes, out.classes)
	case in.classes != 0 && out.classes != 0 && in.weighted != out.weighted:
		return nil, fmt.Errorf("%w: scores with and without weights", metrics.ErrMismatch)
	case in.classes != 0 && out.classes != 0 && (in.logits == noLogits) != (out.logits == noLogits):
		return nil, fmt.Errorf("%w: scores of logits and of probabilities", metrics.ErrMismatch)
	}
	m := mix(in, out)
	back := &mixture{exact: m.exact, weighted: m.weighted, rows: make([]mixed, len(m.rows))}
	for i, x := range m.rows {
		back.rows[len(m.rows)-1-i] = mixed{-x.score, x.out, x.in}
	}
	return &OOD{out: m.ranking(), in: back.ranking()}, nil
}

// mixture holds the scores of both sets in rising order.
type mixture struct {
	rows            []mixed
	exact, weighted bool
	outside         int64
}

type mixed struct{ score, in, out float64 }

// mix merges the scores of two sets in order.
func mix(in, out *Scores) *mixture {
	m := &mixture{exact: in.Exact() && out.Exact(), weighted: in.weighted || out.weighted}
	in.table.settle()
	out.table.settle()
	coarse := max(in.table.coarse, out.table.coarse)
	i, j := 0, 0
	a, b := in.table.keys, out.table.keys
	// at returns the next key of a set, reduced to the coarser of both resolutions.
	at := func(t *table[tallied, *tallied], i int) uint64 {
		if i == len(t.keys) {
			return math.MaxUint64
		}
		return t.keys[i] >> (coarse - t.coarse)
	}
	for i < len(a) || j < len(b) {
		k := min(at(&in.table, i), at(&out.table, j))
		x := mixed{score: in.score(k << coarse)}
		for ; i < len(a) && at(&in.table, i) == k; i++ {
			x.in += in.table.total(i, in.table.sums[i].n)
		}
		for ; j < len(b) && at(&out.table, j) == k; j++ {
			x.out += out.table.total(j, out.table.sums[j].n)
		}
		m.rows = append(m.rows, x)
	}
	return m
}

func (m *mixture) Exact() bool    { return m.exact }
func (m *mixture) Weighted() bool { return m.weighted }
func (m *mixture) Outside() int64 { return m.outside }
func (m *mixture) Count() int     { return len(m.rows) }

func (m *mixture) Each(f func(*cells.Cell)) {
	var x cells.Cell
	for _, r := range m.rows {
		x.P, x.Weight, x.Events = r.score, r.in+r.out, r.out
		f(&x)
	}
}

func (m *mixture) ranking() *Ranking {
	var p cells.Pairs
	var above, tied sum
	for _, x := range m.rows {
		above.add(float64(x.out * p.Rest))
		tied.add(float64(x.out * x.in))
		p.Rest += x.in
		p.Events += x.out
	}
	p.Above, p.Tied = above.value(), tied.value()
	return &Ranking{m, p}
}

// AUROC returns the area under the receiver operating characteristic, with out-of-distribution rows as the event; see
// Ranking.AUROC.
func (o *OOD) AUROC() (auc, bound float64) { return o.out.AUROC() }

// AUROCInterval returns DeLong's interval of AUROC; see Ranking.AUROCInterval.
func (o *OOD) AUROCInterval(level float64) metrics.Interval { return o.out.AUROCInterval(level) }

// Newcombe reports whether AUROCInterval uses Newcombe's method; see Ranking.Newcombe.
func (o *OOD) Newcombe() bool { return o.out.Newcombe() }

// AUPRCOut returns the area under the precision-recall curve with out-of-distribution rows as the event; see Ranking.AUPRC.
// It depends on the proportion of the two sets.
func (o *OOD) AUPRCOut(a PRArea) (area, bound float64) { return o.out.AUPRC(a) }

// AUPRCIn is AUPRCOut with in-distribution rows as the event, from the lowest score on.
func (o *OOD) AUPRCIn(a PRArea) (area, bound float64) { return o.in.AUPRC(a) }

// FPRAt returns the share of in-distribution rows whose score reaches the threshold that finds this share of the
// out-of-distribution rows; see Ranking.FPRAt. With found = 0.95 it is ood_fpr95. Other authors use that name for the
// threshold that keeps 95% of the in-distribution rows, which is another quantity.
func (o *OOD) FPRAt(found float64) (fpr, bound float64) { return o.out.FPRAt(found) }

// ROC returns the receiver operating characteristic, with thresholds on the detector's score; see Ranking.ROC.
func (o *OOD) ROC(most int) []Point { return o.out.ROC(most) }
