package report

import (
	"fmt"
	"strings"

	"github.com/candor-go/candor/metrics/eval"
)

// ranksSay says whether the average rank of what was observed among the members is that of chance; "" without a test.
func ranksSay(e *eval.Evaluation) string {
	r := e.Ranks()
	const fewest = 20 // rows for which slope and bend are nearly normal
	if r == nil || r.Len() < fewest {
		return ""
	}
	s := r.Shape()
	p := min(s.SlopeP, s.BendP)
	if of := r.P(); of < p { // it needs more rows than the others
		p = of
	}
	p *= 3 // by Bonferroni's rule
	if !(p < 0.01) {
		return " Ranks among the members show nothing against them."
	}
	where, why := "not where chance puts it", ""
	switch {
	case s.BendP <= s.SlopeP && 3*s.BendP < 0.01 && s.Bend > 0:
		where, why = "at the ends too often", "members are too close together, or depend on each other too little across numbers"
	case s.BendP <= s.SlopeP && 3*s.BendP < 0.01:
		where, why = "in the middle too often", "members are too far apart, or depend on each other too much across numbers"
	case 3*s.SlopeP < 0.01 && s.Slope > 0:
		where, why = "high too often", "members are too low"
	case 3*s.SlopeP < 0.01:
		where, why = "low too often", "members are too high"
	}
	p0 := pText(p)
	if !strings.HasPrefix(p0, "<") {
		p0 = "= " + p0
	}
	if why != "" {
		why = ": " + why
	}
	return fmt.Sprintf(" What was observed ranks %s among the members (p %s)%s.", where, p0, why)
}
