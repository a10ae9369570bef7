package recal

import (
	"encoding/json"
	"math"
)

// Dirichlet is Dirichlet calibration: softmax(W ln p + b) of the probabilities p of a row, which is what follows for the classes if the rows of each class
// have a Dirichlet distribution. W and b minimise the mean NLL plus the penalties of off-diagonal and intercept regularisation (ODIR)
//
//	OffDiagonal * mean of W_ij^2 over i != j  +  Bias * mean of b_i^2
//
// which are 0 by default. The arg max may change.
//
// It is Matrix of the logarithms of probabilities, also where the rows are logits: they become ln softmax(z) first, so a number added to all logits of
// a row changes nothing. Everything else is as for Matrix: rows left out, classes without probability, which column constants the penalties
// choose, errors, time and memory, and the parameters in a file. For Probs and LogProbs the two methods give the same map.
//
// With RefRow the penalties are of W and b minus their last rows, as in dirichletcal of PyPI by default. Which class is the last then matters.
//
// Source: Kull, Perello-Nieto, Kaengsepp, Silva Filho, Song and Flach, Beyond temperature scaling: obtaining well-calibrated multiclass
// probabilities with Dirichlet calibration (2019).
type Dirichlet struct {
	OffDiagonal float64 // weight of the mean square of W's off-diagonal elements; 0 means no penalty
	Bias        float64 // weight of the mean square of b; 0 means no penalty
	RefRow      bool
}

// String returns "dirichlet" with the options that differ from the default: off_diagonal=WEIGHT, bias=WEIGHT, ref_row.
func (m Dirichlet) String() string {
	return spelled("dirichlet", value("off_diagonal", m.OffDiagonal, 0), value("bias", m.Bias, 0), word("ref_row", m.RefRow))
}

func (m Dirichlet) with(option, v string) (Method, error) {
	var err error
	switch option {
	case "off_diagonal":
		m.OffDiagonal, err = readNumber(option, v, 0, math.MaxFloat64)
	case "bias":
		m.Bias, err = readNumber(option, v, 0, math.MaxFloat64)
	case "ref_row":
		m.RefRow, err = readWord(option, v)
	default:
		err = noOption(option, "off_diagonal", "bias", "ref_row")
	}
	return m, err
}

// Fit returns a *MatrixMap.
func (m Dirichlet) Fit(d Data, o *Options) (Map, error) {
	return fitMatrix(&linear{d: d, o: o, name: "dirichlet", full: true, off: m.OffDiagonal, bias: m.Bias, normal: true, refRow: m.RefRow}, m)
}

func (m Dirichlet) decode(f Fit, parameters json.RawMessage) (Map, error) {
	return decodeMatrix(m, f, parameters, true)
}
