package eval

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTeX: each metric, and each of its other meanings, has a formula in TeX that a page can show: braces and fences match, and every
// command is one that TeX, MathJax and KaTeX have. GitHub refuses \operatorname.
func TestTeX(t *testing.T) {
	commands := strings.Fields(`Bigl Bigr Phi alpha arg bar bigl bigr cdot chi dots exp frac ge hat in int lambda le lfloor ln ` +
		`mapsto mathcal mathrm max min mu ne pi pm prod psi qquad rfloor sigma sim sqrt sum tau text varphi`)
	used := map[string]bool{}
	names := map[string]bool{}
	for _, d := range Descriptors() {
		names[d.Name] = true
		if len(texAlso[d.Name]) != len(d.Also) {
			t.Errorf("%s has %d other meanings and %d formulas of them", d.Name, len(d.Also), len(texAlso[d.Name]))
		}
		for _, d := range append([]Descriptor{d}, d.Also...) {
			f := d.TeX()
			if f == "" {
				t.Errorf("%s has no formula", d.Name)
			}
			depth := 0
			plain := strings.NewReplacer(`\{`, "", `\}`, "").Replace(f)
			for _, c := range plain {
				switch c {
				case '{':
					depth++
				case '}':
					depth--
				}
				if depth < 0 {
					break
				}
			}
			if depth != 0 {
				t.Errorf("%s: the braces of %s do not match", d.Name, f)
			}
			for _, size := range []string{"big", "Big"} {
				if l, r := strings.Count(f, `\`+size+"l"), strings.Count(f, `\`+size+"r"); l != r {
					t.Errorf("%s: %s opens %d and closes %d", d.Name, f, l, r)
				}
			}
			if strings.ContainsAny(f, "\n`$") {
				t.Errorf("%s: %s has a character that ends it on a page", d.Name, f)
			}
			for _, m := range regexp.MustCompile(`\\([A-Za-z]+)`).FindAllStringSubmatch(f, -1) {
				if used[m[1]] = true; !slices.Contains(commands, m[1]) {
					t.Errorf(`%s: %s has \%s, which is no command that all have`, d.Name, f, m[1])
				}
			}
		}
	}
	for name := range tex {
		if !names[name] {
			t.Errorf("there is a formula of %s, which is no metric", name)
		}
	}
	for _, c := range commands {
		if !used[c] {
			t.Errorf(`no formula has \%s`, c)
		}
	}
}
