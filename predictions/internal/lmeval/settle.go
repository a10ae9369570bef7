package lmeval

import (
	"math"
	"slices"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/predictions/internal/columns"
)

// settle decides how the targets of a file are read: as numbers of choices, or as their texts. The harness does one of these in all lines of a
// task, and its accuracies tell which: they agree with the right choices in every line.
func (p *parser) settle(lines []line) *columns.Fault {
	const index, text = 0, 1
	read := func(l *line, as int) *gold { return []*gold{&l.byIndex, &l.byText}[as] }
	var possible, whole [2]bool // the reading agrees with all accuracies; and all targets are choices
	var wrong [2]*line          // the first line that does not
	for as := range possible {
		possible[as], whole[as] = true, true
		for i := range lines {
			l := &lines[i]
			if l.settled {
				continue
			}
			g := read(l, as)
			if possible[as] && (!g.ok || l.disagrees(*g) != nil) {
				possible[as], wrong[as] = false, l
			}
			whole[as] = whole[as] && g.whole()
		}
	}
	differ := func() *line {
		for i := range lines {
			if l := &lines[i]; !l.settled && !(l.byIndex.ok && l.byText.ok && slices.Equal(l.byIndex.of, l.byText.of)) {
				return l
			}
		}
		return nil
	}
	d := differ()
	if d == nil {
		for i := range lines {
			if l := &lines[i]; !l.settled {
				l.gold = l.byIndex
			}
		}
		return nil
	}
	// Without a delimiter a target may be the text of a choice that ends with it.
	for i := range lines {
		l := &lines[i]
		if l.settled || l.ends == nil || !l.unsure && !l.byText.whole() {
			continue
		}
		if !possible[index] || !whole[index] || l.unsure || !slices.Equal(l.byIndex.of, l.byText.of) {
			return l.wrong(delimiterRemedy(), "its target may be the text of a choice, and these are not known without the delimiter before them")
		}
	}
	if slices.ContainsFunc(lines, func(l line) bool { return !l.settled && l.choices == nil }) {
		possible[text] = false
	}
	as := index
	switch {
	case possible[index] && possible[text] && whole[index] == whole[text]:
		return d.wrong(fieldRemedy(), "its target may be the number of a choice or its text, choice %s or choice %s, and the accuracies of the file agree with both",
			join(d.byIndex.of), join(d.byText.of))
	case possible[text] && (whole[text] || !possible[index]):
		as = text
	case !possible[index]:
		l := wrong[index]
		if !l.byIndex.ok && wrong[text] != nil {
			as, l = text, wrong[text]
		}
		if g := read(l, as); g.whole() {
			return l.disagrees(*g)
		}
		return l.wrong(fieldRemedy(), "its target is neither the number of a choice nor its text")
	}
	for i := range lines {
		if l := &lines[i]; !l.settled {
			l.gold = *read(l, as)
		}
	}
	return nil
}

func fieldRemedy() string {
	return "name the field that has the number of the right choice, from 0, or its text, as " + setting.RightChoice.String() + " doc.answer"
}

const edited = "was the file edited? if the task computes it in a way of its own, leave the file out"

// disagrees returns a fault if the right choices do not give the accuracy of the line.
func (l *line) disagrees(g gold) *columns.Fault {
	right := func(x []float64) (hit bool, best int, close bool) {
		best, close = argmax(x)
		return slices.Contains(g.of, best), best, close
	}
	if slices.ContainsFunc(l.lls, math.IsNaN) {
		return nil // a bad row
	}
	for _, c := range []struct {
		name  string
		value float64
		of    func() []float64 // nil if it is not known
		exact bool
	}{
		{"acc", l.facts.acc, func() []float64 { return l.lls }, true},
		{"acc_norm", l.facts.norm, func() []float64 { return l.over(Chars) }, false},
		{"acc_bytes", l.facts.bytes, func() []float64 { return l.over(Bytes) }, false},
		{"acc_mutual_info", l.facts.mutual, func() []float64 {
			if len(g.of) != 1 || l.alone == nil {
				return nil
			}
			x := make([]float64, len(l.lls))
			for i := range x {
				x[i] = l.lls[i] - l.alone[i]
			}
			return x
		}, false},
	} {
		if math.IsNaN(c.value) {
			continue
		}
		x := c.of()
		if x == nil || slices.ContainsFunc(x, math.IsNaN) {
			continue
		}
		if hit, best, close := right(x); hit != (c.value == 1) && (c.exact || !close) {
			return l.wrong(edited, "%s is %v, but choice %d is the most likely one and the right one is %s", c.name, c.value, best, join(g.of))
		}
	}
	return nil
}

// over returns the log-likelihoods divided by lengths; nil if these are not known, or one is 0.
func (l *line) over(n Norm) []float64 {
	if l.choices == nil || l.many {
		return nil
	}
	if slices.Contains(l.choices, "") {
		return nil
	}
	x := l.lengths(n)
	for i := range x {
		x[i] = l.lls[i] / x[i]
	}
	return x
}

// check compares the line with what the harness computed from it.
func (l *line) check() *columns.Fault {
	if f := l.disagrees(l.gold); f != nil {
		return f
	}
	if len(l.facts.probs) != len(l.lls) || slices.ContainsFunc(l.lls, math.IsNaN) {
		return nil
	}
	best, _ := argmax(l.lls)
	sum := 0.0
	p := make([]float64, len(l.lls))
	for i, x := range l.lls {
		p[i] = kernel.Exp64(x - l.lls[best])
		sum += p[i]
	}
	for i := range p {
		// numpy prints 8 digits after the point.
		if q := p[i] / sum; math.Abs(q-l.facts.probs[i]) > 1e-6 {
			return l.wrong(edited, "brier_score has the probability %v of choice %d, and its log-likelihood gives %.8f", l.facts.probs[i], i, q)
		}
	}
	return nil
}
