package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// TestRecalTwoColumns: (N, 2) is the binary task of its column 1, or of --event's: map, document and what is applied are those of (N,).
func TestRecalTwoColumns(t *testing.T) {
	d, s := newDir(t), newSet(5, 400, 1).each(func(p float64) float64 { return min(max(math.Round(p*64)/64, 1.0/64), 63.0/64) })
	n := int64(s.rows)
	turned := slices.Clone(s.labels)
	for i, y := range turned {
		turned[i] = 1 - y
	}
	y, y0 := d.put("y.npy", s.labelFile(t)), d.put("y0.npy", npy(t, []int64{n}, turned))
	w := d.put("w.npy", s.weightFile(t))
	l1, l2 := s.twoLogits()
	other := s.each(func(p float64) float64 { return 1 - p })
	one, two := d.put("one.npy", npy(t, []int64{n}, s.probs)), d.put("two.npy", npy(t, []int64{n, 2}, s.twoColumns()))
	zero := d.put("zero.npy", npy(t, []int64{n}, other.probs))
	z1, z2 := d.put("z1.npy", npy(t, []int64{n}, l1)), d.put("z2.npy", npy(t, []int64{n, 2}, l2))
	for _, method := range []string{"temperature", "isotonic", "platt"} {
		for _, c := range []struct {
			want, got   []string
			apply, twos []string
			event       int
		}{
			{[]string{one, "--labels", y}, []string{two, "--labels", y}, []string{one}, []string{two}, 1},
			{[]string{one, "--labels", y, "--weights", w}, []string{two, "--labels", y, "--weights", w, "--task", "binary", "--event", "1"}, []string{one}, []string{two, "--event", "1"}, 1},
			{[]string{zero, "--labels", y0}, []string{two, "--labels", y, "--event", "0"}, []string{zero}, []string{two, "--event", "0"}, 0},
			{[]string{z1, "--labels", y, "--input", "logits"}, []string{z2, "--labels", y, "--input", "logits"}, []string{z1, "--input", "logits"}, []string{z2, "--input", "logits"}, 1},
		} {
			want := printed(t, append([]string{"recal", "fit", method, "--json", "-o", d.at("one.json")}, c.want...)...)
			got := printed(t, append([]string{"recal", "fit", method, "--json", "-o", d.at("two.json")}, c.got...)...)
			if got != want {
				t.Errorf("%s: %v is not %v: %s", method, c.got, c.want, differing(want, got))
			}
			if !bytes.Equal(d.read(d.at("one.json")), d.read(d.at("two.json"))) {
				t.Errorf("%s: %v: another map", method, c.got)
			}
			if !strings.Contains(want, method+" of 400 rows, binary: ") {
				t.Errorf("%s: the document does not say the task", method)
			}
			for _, as := range []string{"probs", "logprobs", "logits"} {
				printed(t, append([]string{"recal", "apply", d.at("two.json"), "--as", as, "-o", d.at("o1.npy")}, c.apply...)...)
				printed(t, append([]string{"recal", "apply", d.at("one.json"), "--as", as, "-o", d.at("o2.npy")}, c.twos...)...)
				p1, shape1, _ := written(t, d.at("o1.npy"))
				p2, shape2, _ := written(t, d.at("o2.npy"))
				if shape1 != "(400,)" && method != "isotonic" || shape2 != "(400, 2)" {
					t.Fatalf("%s as %s: shapes %s and %s", method, as, shape1, shape2)
				}
				if shape1 != "(400,)" {
					continue
				}
				for i, v := range p1 {
					event, rest := p2[2*i+c.event], p2[2*i+1-c.event]
					if sum := map[string]float64{"probs": event + rest, "logprobs": math.Exp(event) + math.Exp(rest), "logits": 1}[as]; math.Abs(sum-1) > 1e-6 {
						t.Fatalf("%s as %s: row %d: %v and %v", method, as, i, event, rest)
					}
					if as == "logits" {
						event -= rest
					}
					if event != v {
						t.Fatalf("%s as %s: row %d is %v of one column, %v of two", method, as, i, v, event)
					}
				}
			}
		}
	}
	// Two classes where they are asked for.
	printed(t, "recal", "fit", "vector", z2, "--labels", y, "--input", "logits", "--task", "classification", "-o", d.at("v.json"))
	doc := fitted(t, "temperature", two, "--labels", y, "--task", "classification", "-o", d.at("m.json"))
	if m, err := readMap(d.at("m.json")); err != nil || m.Fit().Classes != 2 || !strings.Contains(doc.Says, "400 rows x 2 classes") {
		t.Errorf("%v: %s", err, doc.Says)
	}
	printed(t, "recal", "apply", d.at("m.json"), two, "-o", d.at("o.npy"))
	if _, shape, _ := written(t, d.at("o.npy")); shape != "(400, 2)" {
		t.Error(shape)
	}
	for _, c := range []struct {
		code int
		args []string
		want []string
	}{
		{exitData, []string{"fit", "vector", z2, "--labels", y, "--input", "logits"}, []string{"z2.npy: vector is for two classes or more, and the two columns are read as a binary task; pass --task classification"}},
		{exitData, []string{"fit", "matrix(bias=1)", z1, "--labels", y, "--input", "logits"}, []string{"z1.npy: matrix(bias=1) is for two classes or more, and these rows have one score; a factor and a bias of one logit are platt"}},
		{exitUsage, []string{"fit", "platt", one, "--labels", y, "--event", "0"}, []string{"--event names one of two columns of scores, (N, 2), and these are (400,)"}},
		{exitUsage, []string{"fit", "platt", two, "--labels", y, "--event", "2"}, []string{"--event is 2; it is 0 or 1"}},
		{exitUsage, []string{"fit", "platt", two, "--labels", y, "--event", "0", "--task", "classification"}, []string{"--event is for binary tasks"}},
		{exitUsage, []string{"apply", d.at("one.json"), one, "--event", "0", "-o", d.at("none.npy")}, []string{"--event names one of two columns of scores"}},
		{exitUsage, []string{"apply", d.at("m.json"), two, "--event", "0", "-o", d.at("none.npy")}, []string{"--event is for binary tasks, and the map was fitted to two classes"}},
		{exitUsage, []string{"apply", d.at("one.json"), two, "--event", "2", "-o", d.at("none.npy")}, []string{"--event is 2; it is 0 or 1"}},
		{exitUsage, []string{"apply", d.at("one.json"), two, "--as", "odds", "-o", d.at("none.npy")}, []string{`--as is "odds"; it is probs, logits or logprobs`}},
		{exitData, []string{"apply", d.at("m.json"), one, "-o", d.at("none.npy")}, []string{"one.npy: the map temperature is of rows of 2 scores, and these have 1; fit one to a binary task: without --task classification"}},
	} {
		refusedAs(t, d, c.code, append([]string{"recal"}, c.args...), c.want...)
	}
}

// sureSet returns float32 logits that should be about eight times as large: their probabilities round to 1 then.
func sureSet(rows int) (z []float32, labels []int32) {
	r := rand.New(rand.NewPCG(7, 7))
	z, labels = make([]float32, rows), make([]int32, rows)
	for i := range z {
		z[i] = float32(3 * r.NormFloat64())
		if r.Float64() < 1/(1+math.Exp(-float64(z[i])/0.13)) {
			labels[i] = 1
		}
	}
	// One row that is sure and wrong.
	z[11], labels[11] = 4, 0
	return z, labels
}

// TestRecalFullPrecision: what is said after, and what is written, has the digits that the map has, where float32 rounds p to 1.
func TestRecalFullPrecision(t *testing.T) {
	const n = 600
	d := newDir(t)
	z, labels := sureSet(n)
	two := make([]float32, 0, 2*n)
	for _, v := range z {
		two = append(two, 0, v)
	}
	x, x2, y := d.put("x.npy", npy(t, []int64{n}, z)), d.put("x2.npy", npy(t, []int64{n, 2}, two)), d.put("y.npy", npy(t, []int64{n}, labels))
	three := d.put("x3.npy", npy(t, []int64{n, 3}, func() (l []float32) {
		for _, v := range z {
			l = append(l, 10*v, -200, 0)
		}
		return l
	}()))
	zeros := make([]int32, n)
	for i, y := range labels {
		zeros[i] = 2 * (1 - y)
	}
	y3 := d.put("y3.npy", npy(t, []int64{n}, zeros))
	for _, method := range []string{"temperature", "ets", "platt", "beta"} {
		doc := fitted(t, method, x, "--labels", y, "--input", "logits", "-o", d.at("m.json"))
		before, after := doc.Before.value(t, "nll"), doc.After.value(t, "nll")
		if !(after < before) {
			t.Errorf("%s: nll %v before and %v after", method, before, after)
		}
		for _, l := range doc.Temperatures {
			if v, ok := l.NLL.(float64); !ok || !(v < 10) {
				t.Errorf("nll %v at %v", l.NLL, l.Temperature)
			}
		}
		m, err := readMap(d.at("m.json"))
		if err != nil {
			t.Fatal(err)
		}
		// The truth, from the map in float64.
		full := metrics.Scores{F64: make([]float64, n), Rows: n, Classes: 1}
		recal.ApplyAs(m, metrics.Logits, &full, &metrics.Scores{F32: z, Rows: n, Classes: 1}, metrics.Logits)
		truth := 0.0
		for i, v := range full.F64 {
			if labels[i] == 1 {
				v = -v
			}
			truth += (max(v, 0) + math.Log1p(math.Exp(-math.Abs(v)))) / n
		}
		// Two columns, since one would round.
		code, _, errs := candor(t, "recal", "apply", d.at("m.json"), x, "--input", "logits", "-o", d.at("o.npy"))
		p, shape, dtype := written(t, d.at("o.npy"))
		if method == "ets" || method == "beta" { // which leave more of 1, so that nothing rounds
			if code != 0 || errs != "" || shape != "(600,)" {
				t.Errorf("%s: %s%s", method, shape, errs)
			}
		} else if code != 0 || !strings.Contains(errs, "o.npy: float32 rounds the probability to 1, and the map does not, in ") || !strings.Contains(errs, ": two columns are written, (N, 2)") ||
			!strings.Contains(errs, "--as logits keeps it") || shape != "(600, 2)" || dtype != metrics.Float32 {
			t.Errorf("%s: exit code %d, %s of %v: %s", method, code, shape, dtype, errs)
		} else if p[22] <= 0 || p[22] > 1e-7 || p[23] != 1 {
			t.Errorf("%s: row 11 is %v", method, p[22:24])
		}
		evaluated := func(args ...string) float64 {
			return evaluate(t, append([]string{d.at("o.npy"), "--metrics", "nll"}, args...)...).value(t, "nll")
		}
		near := func(what string, v float64) {
			if !(math.Abs(v-truth) <= 1e-6*truth) {
				t.Errorf("%s %s: nll %v, want %v", method, what, v, truth)
			}
		}
		if shape == "(600, 2)" {
			near("as two classes", evaluated("--labels", y, "--task", "classification"))
		}
		for _, as := range []string{"logits", "logprobs"} {
			printed(t, "recal", "apply", d.at("m.json"), x, "--input", "logits", "--as", as, "-o", d.at("o.npy"))
			if _, shape, _ := written(t, d.at("o.npy")); shape != "(600,)" {
				t.Errorf("%s as %s: %s", method, as, shape)
			}
			near("as "+as, evaluated("--labels", y, "--input", as))
			printed(t, "recal", "apply", d.at("m.json"), x2, "--input", "logits", "--as", as, "-o", d.at("o.npy"))
			if _, shape, _ := written(t, d.at("o.npy")); shape != "(600, 2)" {
				t.Errorf("%s as %s: %s", method, as, shape)
			}
			near("as two columns of "+as, evaluated("--labels", y, "--input", as))
		}
	}
	// What the map makes of scores that tell little may lie in [0, 1]: these are logits all the same.
	flat, often := make([]float32, n), make([]int32, n)
	for i := range flat {
		flat[i], often[i] = float32(i%7)/70, int32(min(i%3, 1))
	}
	dull := fitted(t, "platt(smoothed)", d.put("flat.npy", npy(t, []int64{n}, flat)), "--labels", d.put("often.npy", npy(t, []int64{n}, often)), "--input", "logits")
	if w := dull.After.Warnings; slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, "every logit") }) {
		t.Errorf("%v", w)
	}
	// Through a pipe and by several threads it is the same.
	printed(t, "recal", "fit", "temperature", x, "--labels", y, "--input", "logits", "-o", d.at("m.json"))
	candor(t, "recal", "apply", d.at("m.json"), x, "--input", "logits", "-o", d.at("o.npy"))
	if got := process(t, []string{"TMPDIR=" + d.path}, x, "recal", "apply", d.at("m.json"), "-", "--input", "logits", "-o", "-", "--threads", "3"); !bytes.Equal(got, d.read(d.at("o.npy"))) {
		t.Error("other bytes")
	}
	if l := d.list(); slices.ContainsFunc(l, func(s string) bool { return strings.HasPrefix(s, ".candor-") }) {
		t.Errorf("the folder has %v", l)
	}
	// With three classes, a small probability underflows in float32.
	doc := fitted(t, "temperature", three, "--labels", y3, "--input", "logits", "-o", d.at("m.json"))
	if v := doc.After.value(t, "nll"); !(v < 1) {
		t.Errorf("nll after is %v", v)
	}
	// What is 1 has no logit that can be read in one column.
	printed(t, "recal", "fit", "isotonic", x, "--labels", y, "--input", "logits", "-o", d.at("m.json"))
	code, _, text := candor(t, "recal", "apply", d.at("m.json"), x, "--input", "logits", "--as", "logits", "-o", d.at("o.npy"))
	if _, shape, _ := written(t, d.at("o.npy")); code != 0 || shape != "(600, 2)" || !strings.Contains(text, "the map is certain of the event, whose logit is infinite, in ") {
		t.Errorf("exit code %d, %s: %s", code, shape, text)
	}
	isotonic := evaluate(t, d.at("o.npy"), "--labels", y, "--input", "logits", "--metrics", "brier").value(t, "brier")
	printed(t, "recal", "apply", d.at("m.json"), x, "--input", "logits", "-o", d.at("o.npy"))
	if want := evaluate(t, d.at("o.npy"), "--labels", y, "--metrics", "brier").value(t, "brier"); math.Abs(want-isotonic) > 1e-6 {
		t.Errorf("brier is %v by logits, %v by probabilities", isotonic, want)
	}
}

// TestRecalCertainPairs: -Inf in column 0 says that the event is certain, which is judged and fitted alike.
func TestRecalCertainPairs(t *testing.T) {
	d, s := newDir(t), newSet(5, 400, 1)
	inf := math.Inf(-1)
	var two []float64
	for i, p := range s.probs {
		switch {
		case i%50 == 0 && s.labels[i] == 1:
			two = append(two, inf, 2)
		case i%50 == 0:
			two = append(two, 2, inf)
		default:
			two = append(two, 0, math.Log(p/(1-p)))
		}
	}
	x, y := d.put("x.npy", npy(t, []int64{400, 2}, two)), d.put("y.npy", s.labelFile(t))
	for _, m := range []string{"temperature", "ets", "platt", "beta", "isotonic", "histogram", "bbq", "venn_abers", "spline"} {
		doc := fitted(t, m, x, "--labels", y, "--input", "logits", "-o", d.at("m.json"))
		if doc.After == nil || strings.Contains(doc.Says, "left out") {
			t.Errorf("%s: %s", m, doc.Says)
		}
		if v := doc.After.value(t, "nll"); m == "temperature" && !(v < 2) {
			t.Errorf("%s: nll %v", m, v)
		}
		printed(t, "recal", "apply", d.at("m.json"), x, "--input", "logits", "--as", "logprobs", "-o", d.at("o.npy"))
		p, _, _ := written(t, d.at("o.npy"))
		for i := range s.rows {
			certain := m == "temperature" || m == "platt" || m == "beta"
			if sum := math.Exp(p[2*i]) + math.Exp(p[2*i+1]); math.Abs(sum-1) > 1e-9 || certain && math.IsInf(two[2*i], -1) != math.IsInf(p[2*i], -1) {
				t.Fatalf("%s: row %d is %v", m, i, p[2*i:2*i+2])
			}
		}
	}
}
