package rank

import "github.com/candor-go/candor/metrics"

// Detector is a score of how far a row is from what a model knows; higher is further.
type Detector uint8

// The detectors.
const (
	MaxSoftmax     Detector = iota // 1 - max p
	MaxLogit                       // -max logit
	Entropy                        // of the probabilities, in nats
	Energy                         // -ln sum exp(logit)
	DempsterShafer                 // K/(K + sum exp(logit))
)

// Scores is an accumulator of a set's scores.
type Scores struct{ metrics.Accumulator }

// NewScores is not made yet.
func NewScores(d Detector) *Scores { panic("not yet") }

// Reason is not made yet.
func (s *Scores) Reason() string { panic("not yet") }

// OOD compares the scores of two sets.
type OOD struct{ out, in *Ranking }

// NewOOD is not made yet.
func NewOOD(in, out *Scores) (*OOD, error) { panic("not yet") }

// AUROC is not made yet.
func (o *OOD) AUROC() (auc, bound float64) { panic("not yet") }

// AUROCInterval is not made yet.
func (o *OOD) AUROCInterval(level float64) metrics.Interval { panic("not yet") }

// AUPRCOut is not made yet.
func (o *OOD) AUPRCOut(a PRArea) (area, bound float64) { panic("not yet") }

// AUPRCIn is not made yet.
func (o *OOD) AUPRCIn(a PRArea) (area, bound float64) { panic("not yet") }

// FPRAt is not made yet.
func (o *OOD) FPRAt(found float64) (fpr, bound float64) { panic("not yet") }

// ROC is not made yet.
func (o *OOD) ROC(most int) []Point { panic("not yet") }
