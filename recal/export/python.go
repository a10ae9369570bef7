package export

import (
	"fmt"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// Python returns a module with one function, recalibrate, over arrays of rows. It imports numpy and nothing else. input is what
// the function takes: a kind that the map's Out accepts.
func Python(m recal.Map, input metrics.Kind) ([]byte, error) {
	p, err := newProgram(m, input)
	if err != nil {
		return nil, err
	}
	var c code
	c.line("# %s", p.what())
	c.line("# Written by candor; it needs numpy alone.")
	c.line("import numpy as np")
	c.line("")
	switch {
	case p.soft != nil:
		p.pythonSoft(&c)
	case p.curves != nil:
		p.pythonCurves(&c)
	case p.levels != nil:
		p.pythonLevels(&c)
	default:
		c.line("")
		c.line("def recalibrate(sd):")
		c.line(`    """Returns recalibrated standard deviations; the means stay as they are."""`)
		c.line("    return np.asarray(sd, dtype=np.float64) * %s", number(p.sigma))
	}
	return []byte(c.String()), nil
}

func pythonNumber(v float64) string {
	if v != v {
		return "np.nan"
	}
	return number(v)
}

func pythonArray(name string, v []float64) string {
	words := numbers(v, pythonNumber)
	if one := strings.Join(words, ", "); len(one) < 90 {
		return fmt.Sprintf("%s = np.array([%s])", name, one)
	}
	return fmt.Sprintf("%s = np.array([\n%s,\n])", name, wrapped("    ", words))
}

func (p *program) pythonHead(c *code) {
	shape := "(N,)"
	if !p.binary() {
		shape = fmt.Sprintf("(N, %d)", p.classes)
	}
	c.line("")
	c.line("def recalibrate(x):")
	c.line(`    """Returns recalibrated probabilities, %s. x is %s: %s."""`, shape, shape, p.takes())
	c.line("    x = np.asarray(x, dtype=np.float64)")
}

// pythonLogit writes z, the logit of a binary task.
func (p *program) pythonLogit(c *code) {
	switch p.input {
	case metrics.Probs:
		c.line(`    with np.errstate(divide="ignore"):`)
		c.line("        z = np.log(x) - np.log1p(-x)")
	case metrics.LogProbs:
		c.line(`    with np.errstate(divide="ignore"):`)
		c.line("        z = x - np.log(-np.expm1(x))")
	default:
		c.line("    z = x")
	}
}

func (p *program) pythonSoft(c *code) {
	s := p.soft
	if p.binary() {
		p.pythonHead(c)
		p.pythonLogit(c)
		c.line(`    with np.errstate(over="ignore"):`)
		if s.mixture == nil {
			c.line("        return 1 / (1 + np.exp(-z / %s))", number(s.temperature))
			return
		}
		c.line("        p = 1 / (1 + np.exp(-z / %s))", number(s.temperature))
		c.line("        q = 1 / (1 + np.exp(-z))")
		c.line("    return %s * p + %s * q + %s", number(s.mixture[0]), number(s.mixture[1]), number(s.mixture[2]/2))
		return
	}
	if s.biases != nil {
		if s.matrix != nil {
			var all []float64
			for _, row := range s.matrix {
				all = append(all, row...)
			}
			c.line("%s.reshape(%d, %d)", pythonArray("MATRIX", all), p.classes, p.classes)
		} else {
			c.line("%s", pythonArray("FACTORS", s.factors))
		}
		c.line("%s", pythonArray("BIASES", s.biases))
		c.line("")
	}
	c.line("")
	c.line("def softmax(z):")
	c.line("    e = np.exp(z - z.max(axis=1, keepdims=True))")
	c.line("    return e / e.sum(axis=1, keepdims=True)")
	c.line("")
	p.pythonHead(c)
	if p.input == metrics.Probs {
		c.line(`    with np.errstate(divide="ignore"):`)
		c.line("        z = np.log(x)")
	} else {
		c.line("    z = x")
	}
	if s.normal {
		c.line("    z = z - z.max(axis=1, keepdims=True)")
		c.line("    z = z - np.log(np.exp(z).sum(axis=1, keepdims=True))")
	}
	switch {
	case s.mixture != nil:
		c.line("    return %s * softmax(z / %s) + %s * softmax(z) + %s", number(s.mixture[0]), number(s.temperature), number(s.mixture[1]),
			number(s.mixture[2]/float64(p.classes)))
	case s.temperature > 0:
		c.line("    return softmax(z / %s)", number(s.temperature))
	case s.matrix != nil:
		floor := number(s.floor)
		if p.input == metrics.Logits && !s.normal {
			floor = "z.max(axis=1, keepdims=True) + " + floor
		}
		c.line("    impossible = np.isneginf(z)")
		c.line("    z = np.where(impossible, %s, z)", floor)
		c.line("    return softmax(np.where(impossible, -np.inf, z @ MATRIX.T + BIASES))")
	default:
		c.line("    impossible = np.isneginf(z)")
		c.line("    return softmax(np.where(impossible, -np.inf, np.where(impossible, 0, z) * FACTORS + BIASES))")
	}
}

func (p *program) pythonCurves(c *code) {
	if !p.onLogits() {
		if len(p.curves) == 1 {
			c.line("%s", pythonArray("CUTS", p.curves[0].cuts))
			c.line("%s", pythonArray("VALUES", p.curves[0].values))
			if p.any(hasOn) {
				c.line("%s", pythonArray("ON", p.curves[0].on))
			}
		} else {
			list := func(name string, of func(*curve) []float64) {
				c.line("%s = [", name)
				for i := range p.curves {
					c.line("    np.array([\n%s,\n    ]),", wrapped("        ", numbers(of(&p.curves[i]), pythonNumber)))
				}
				c.line("]")
			}
			list("CUTS", func(c *curve) []float64 { return c.cuts })
			list("VALUES", func(c *curve) []float64 { return c.values })
			if p.any(hasOn) {
				list("ON", func(c *curve) []float64 { return c.on })
			}
		}
		c.line("")
		args := "p, cuts, values"
		if p.any(hasOn) {
			args += ", on"
		}
		c.line("")
		c.line("def curve(%s):", args)
		side := "right"
		if p.curves[0].closed {
			side = "left"
		}
		switch {
		case p.any(isLine):
			c.line("    return np.interp(p, cuts, values)")
		default:
			c.line("    i = np.searchsorted(cuts, p, side=%q)", side)
			switch {
			case p.any(hasOn):
				c.line("    on_cut = (i > 0) & (p == np.append(cuts, np.inf)[i - 1])")
				c.line("    return np.where(on_cut, np.append(on, np.nan)[i - 1], values[i])")
			case p.any(hasIdentity):
				c.line("    return np.where(np.isnan(values[i]), p, values[i])")
			default:
				c.line("    return values[i]")
			}
		}
		c.line("")
	} else {
		if len(p.curves) > 1 {
			for i, name := range []string{"A", "B", "C"} {
				var v []float64
				for _, f := range p.curves {
					v = append(v, []float64{f.a, f.b, f.c}[i])
				}
				if name != "B" || p.curves[0].beta {
					c.line("%s", pythonArray(name, v))
				}
			}
			c.line("")
		}
		c.line("")
		c.line("def curve(z%s):", map[bool]string{true: ", a, b, c", false: ", a, c"}[p.curves[0].beta])
		c.line(`    with np.errstate(over="ignore", invalid="ignore"):`)
		if p.curves[0].beta {
			c.line("        soft = np.log1p(np.exp(-abs(z)))")
			c.line("        y = a * (np.minimum(z, 0) - soft) + b * (np.maximum(z, 0) + soft) + c")
			c.line("        return 1 / (1 + np.exp(-np.where(np.isinf(z), z, y)))")
		} else {
			c.line("        return 1 / (1 + np.exp(-np.where(a == 0, c, a * z + c)))")
		}
		c.line("")
	}
	if !p.binary() && p.input != metrics.Probs && (!p.onLogits() || p.top) {
		c.line("")
		c.line("def softmax(z):")
		c.line("    e = np.exp(z - z.max(axis=1, keepdims=True))")
		c.line("    return e / e.sum(axis=1, keepdims=True)")
		c.line("")
	}
	p.pythonHead(c)
	call := func(x string) string {
		f := &p.curves[0]
		switch {
		case !p.onLogits() && f.on != nil:
			return "curve(" + x + ", CUTS, VALUES, ON)"
		case !p.onLogits():
			return "curve(" + x + ", CUTS, VALUES)"
		case f.beta:
			return fmt.Sprintf("curve(%s, %s, %s, %s)", x, number(f.a), number(f.b), number(f.c))
		}
		return fmt.Sprintf("curve(%s, %s, %s)", x, number(f.a), number(f.c))
	}
	probs := func() {
		switch {
		case p.input == metrics.Probs:
			c.line("    p = x")
		case !p.binary():
			c.line("    p = softmax(x)")
		case p.input == metrics.Logits:
			c.line(`    with np.errstate(over="ignore"):`)
			c.line("        p = 1 / (1 + np.exp(-x))")
		default:
			c.line("    p = np.exp(x)")
		}
	}
	switch {
	case p.binary() && p.top && p.onLogits():
		p.pythonLogit(c)
		c.line("    f = %s", call("abs(z)"))
		c.line("    return np.where(z > 0, f, 1 - f)")
	case p.binary() && p.top:
		probs()
		c.line("    f = %s", call("np.maximum(p, 1 - p)"))
		c.line("    return np.where(p > 0.5, f, 1 - f)")
	case p.binary() && p.onLogits():
		p.pythonLogit(c)
		c.line("    return %s", call("z"))
	case p.binary():
		probs()
		c.line("    return %s", call("p"))
	case p.top:
		probs()
		c.line("    rows, top = np.arange(len(x)), x.argmax(axis=1)")
		c.line("    others = p.copy()")
		c.line("    others[rows, top] = 0")
		c.line("    rest = others.sum(axis=1)")
		if p.onLogits() {
			p.pythonTop(c)
			c.line("    f = %s", call("z"))
		} else {
			c.line("    f = %s", call("p[rows, top]"))
		}
		c.line("    with np.errstate(divide=\"ignore\", invalid=\"ignore\"):")
		c.line("        y = np.where(rest[:, None] > 0, others / rest[:, None], 1 / %d) * (1 - f)[:, None]", p.classes-1)
		c.line("    y[rows, top] = f")
		c.line("    return y")
	default:
		if p.onLogits() {
			p.pythonEach(c)
			b := ""
			if p.curves[0].beta {
				b = "B, "
			}
			c.line("    y = curve(z, A, %sC)", b)
		} else {
			probs()
			on := ""
			if p.any(hasOn) {
				on = ", ON[j]"
			}
			c.line("    y = np.stack([curve(p[:, j], CUTS[j], VALUES[j]%s) for j in range(%d)], axis=1)", on, p.classes)
		}
		c.line("    total = y.sum(axis=1, keepdims=True)")
		c.line(`    with np.errstate(invalid="ignore"):`)
		c.line("        return np.where(total > 0, y / total, 1 / %d)", p.classes)
	}
}

// pythonTop writes z, the logit of the largest probability; rest and top are there.
func (p *program) pythonTop(c *code) {
	c.line(`    with np.errstate(divide="ignore"):`)
	if p.input == metrics.Probs {
		c.line("        z = np.log(p[rows, top]) - np.log(rest)")
		return
	}
	c.line("        below = x.copy()")
	c.line("        below[rows, top] = -np.inf")
	c.line("        second = np.maximum(below.max(axis=1), -1e300)")
	c.line("        z = x[rows, top] - second - np.log(np.exp(below - second[:, None]).sum(axis=1))")
}

// pythonEach writes z, the logits of each class. That of the largest probability comes from the sum of the others, which has
// digits where 1 - p has none.
func (p *program) pythonEach(c *code) {
	c.line("    rows, top = np.arange(len(x)), x.argmax(axis=1)")
	if p.input == metrics.Probs {
		c.line("    others = x.copy()")
		c.line("    others[rows, top] = 0")
		c.line("    rest = 1 - x")
		c.line("    rest[rows, top] = others.sum(axis=1)")
		c.line(`    with np.errstate(divide="ignore"):`)
		c.line("        z = np.log(x) - np.log(rest)")
		return
	}
	c.line("    z = x - x.max(axis=1, keepdims=True)")
	c.line("    e = np.exp(z)")
	c.line("    below = x.copy()")
	c.line("    below[rows, top] = -np.inf")
	c.line("    second = np.maximum(below.max(axis=1), -1e300)")
	c.line("    rest = e.sum(axis=1, keepdims=True) - e")
	c.line("    rest[rows, top] = 1")
	c.line(`    with np.errstate(divide="ignore"):`)
	c.line("        z -= np.log(rest)")
	c.line("        z[rows, top] = x[rows, top] - second - np.log(np.exp(below - second[:, None]).sum(axis=1))")
}

func (p *program) pythonLevels(c *code) {
	l := p.levels
	c.line("%s  # of the results", pythonArray("LEVELS", l.levels))
	switch p.input {
	case metrics.Normals:
		c.line("%s", pythonArray("DEVIATES", l.at))
		c.line("")
		c.line("")
		c.line("def recalibrate(mean, sd):")
		c.line(`    """Returns quantiles at LEVELS, (N, %d), of normal forecasts."""`, len(l.at))
		c.line("    mean, sd = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)")
		c.line("    return mean[:, None] + sd[:, None] * DEVIATES")
		return
	case metrics.Samples:
		c.line("%s  # of the forecast that are taken for them", pythonArray("AT", l.at))
		c.line("")
		c.line("")
		c.line("def recalibrate(x):")
		c.line(`    """Returns quantiles at LEVELS, (N, %d). x is (N, S): S samples a row."""`, len(l.at))
		c.line("    x = np.sort(np.asarray(x, dtype=np.float64), axis=1)")
		c.line("    given = np.arange(1, x.shape[1] + 1) / (x.shape[1] + 1)")
		c.line("    high = np.minimum(np.searchsorted(given, AT), len(given) - 1)")
		c.line("    low = np.maximum(high - 1, 0)")
		c.line("    part = ((AT - given[low]) / np.maximum(given[high] - given[low], 1e-300)).clip(0, 1)")
		c.line("    return x[:, low] * (1 - part) + x[:, high] * part")
		return
	}
	low, high, part := l.spots()
	c.line("LOW = np.array(%s)  # the quantiles between which the results lie", integers(low))
	c.line("HIGH = np.array(%s)", integers(high))
	c.line("%s  # of the way from LOW to HIGH", pythonArray("PART", part))
	c.line("")
	c.line("")
	c.line("def recalibrate(x):")
	c.line(`    """Returns quantiles at LEVELS, (N, %d). x is of the same shape: quantiles at LEVELS."""`, len(l.at))
	c.line("    x = np.asarray(x, dtype=np.float64)")
	c.line("    return x[:, LOW] * (1 - PART) + x[:, HIGH] * PART")
}
