package ci

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/report"
)

// A step summary of GitHub holds 1 MiB. The end is left for what says that something is missing.
const (
	mostSummary = 1 << 20
	lastWords   = 1 << 10
)

// page is a page of at most mostSummary bytes.
type page struct {
	strings.Builder
	full bool
}

// add appends text, or nothing if it does not fit. Then nothing fits any more.
func (p *page) add(format string, a ...any) bool {
	text := fmt.Sprintf(format, a...)
	if p.full = p.full || p.Len()+len(text) > mostSummary-lastWords; !p.full {
		p.WriteString(text)
	}
	return !p.full
}

// writeGitHub writes Markdown: the outcome of the gates, the verdicts, the metrics, notes, and a table of the parts. It takes as many parts
// as fit, and says how many do not.
func writeGitHub(w io.Writer, r *Result) error {
	p := &page{}
	title := r.Command
	if n := r.failed(); n > 0 {
		title += fmt.Sprintf(": %d of %d gates failed", n, len(r.Gates))
	} else if len(r.Gates) > 0 {
		title += ": all gates passed"
	}
	p.add("### %s\n\n", prose(title))
	if r.Says != "" {
		p.add("%s\n\n", prose(r.Says))
	}
	for _, s := range r.Sets {
		if s.Name != "" {
			p.add("- %s: %s\n", code(s.Name), prose(s.Verdict))
		} else {
			p.add("%s\n", prose(s.Verdict))
		}
	}
	if len(r.Gates) > 0 {
		p.add("\n| Gate | Outcome | |\n| --- | --- | --- |\n")
		for _, o := range r.Gates {
			outcome := "passed"
			if o.Failed {
				outcome = "**failed**"
			}
			p.add("| %s | %s | %s |\n", code(asked(o.Gate)), outcome, prose(o.Text))
		}
	}
	p.metrics(r.Sets)
	p.deltas(r.Deltas)
	for _, s := range r.Sets {
		before := ""
		if s.Name != "" {
			before = code(s.Name) + ": "
		}
		for _, n := range s.Notes {
			p.add("\n> %s%s\n", before, prose(n))
		}
	}
	for _, n := range r.Notes {
		p.add("\n> %s\n", prose(n))
	}
	for i := range r.Rankings {
		p.ranking(&r.Rankings[i])
	}
	for i := range r.Sets {
		for k := range r.Sets[i].Rankings {
			if s := &r.Sets[i]; k == 0 && s.Name != "" {
				p.add("\n%s\n", code(s.Name))
			}
			p.ranking(&r.Sets[i].Rankings[k])
		}
	}
	left := 0
	for i := range r.Sets {
		left += p.parts(&r.Sets[i])
	}
	if p.full {
		p.full = false
		what := "The rest does not fit"
		if left > 0 {
			what = fmt.Sprintf("%s more rows do not fit", report.Count(int64(left)))
		}
		p.WriteString(fmt.Sprintf("\n> %s into a step summary of 1 MiB; %s has all.\n", what, prose(setting.JSON.String())))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// metrics adds a table of the sets' metrics, with a column for each set.
func (p *page) metrics(sets []Set) {
	if len(sets) == 0 || len(sets[0].Metrics) == 0 {
		return
	}
	level := exact(math.Round(1e8*sets[0].Metrics[0].Level)/1e6) + "% interval"
	if len(sets) == 1 {
		p.add("\n| Metric | Value | %s | |\n| --- | ---: | --- | --- |\n", level)
		for i := range sets[0].Metrics {
			m := &sets[0].Metrics[i]
			value, ends := m.Texts()
			p.add("| %s | %s | %s | %s |\n", code(m.Key), prose(value), prose(ends), prose(m.Short))
		}
		return
	}
	head, rule := "\n| Metric |", "| --- |"
	for _, s := range sets {
		head, rule = head+" "+code(s.Name)+" |", rule+" --- |"
	}
	p.add("%s\n%s\n", head, rule)
	for i := range sets[0].Metrics {
		line := "| " + code(sets[0].Metrics[i].Key) + " |"
		for _, s := range sets {
			value, ends := "", ""
			if i < len(s.Metrics) {
				value, ends = s.Metrics[i].Texts()
			}
			line += " " + prose(strings.TrimSpace(value+" "+ends)) + " |"
		}
		p.add("%s\n", line)
	}
	p.add("\nIn brackets %ss of each set.\n", level)
}

// deltas adds a table of differences.
func (p *page) deltas(l []Delta) {
	if len(l) == 0 {
		return
	}
	p.add("\n| Difference | Of | Value | %s%% interval | p adjusted | Outcome for the first |\n| --- | --- | ---: | --- | ---: | --- |\n", exact(math.Round(1e8*l[0].Level)/1e6))
	for i := range l {
		d := &l[i]
		value, ends := d.Texts()
		chance := ""
		if d.Adjusted == d.Adjusted {
			chance = fmt.Sprintf("%.2g", d.Adjusted)
		}
		p.add("| %s | %s minus %s | %s | %s | %s | %s |\n", code(d.Key), code(d.B), code(d.A), prose(value), prose(ends), chance, prose(d.Outcome))
	}
}

// parts adds a table of a set's parts, and returns how many of them did not fit.
func (p *page) parts(s *Set) (left int) {
	if s.Parts == nil {
		return 0
	}
	first := true
	for part := range s.Parts {
		if first {
			first = false
			if s.Name != "" {
				p.add("\n%s\n", code(s.Name))
			}
			head, rule := "\n|", "|"
			for _, l := range part.Of {
				head, rule = head+" "+code(l.Name)+" |", rule+" --- |"
			}
			head, rule = head+" rows |", rule+" ---: |"
			for i := range part.Metrics {
				head, rule = head+" "+code(part.Metrics[i].Key)+" |", rule+" ---: |"
			}
			p.add("%s\n%s\n", head, rule)
		}
		line := "|"
		for _, l := range part.Of {
			line += " " + code(l.Value) + " |"
		}
		line += " " + report.Count(part.Rows) + " |"
		for i := range part.Metrics {
			value, _ := part.Metrics[i].Texts()
			line += " " + prose(value) + " |"
		}
		if !p.add("%s\n", line) {
			left++
		}
	}
	return left
}

// code shows text literally: as a code span of Markdown, or of HTML if it has characters that would end one in a table. GitHub makes no
// links and mentions of code.
func code(s string) string {
	shown := visible.Text(s)
	if shown == "" || strings.TrimSpace(shown) != shown {
		shown = strconv.Quote(shown)
	}
	if !strings.ContainsAny(shown, "`|\\") {
		return "`" + shown + "`"
	}
	var b strings.Builder
	for _, c := range shown {
		if c < 0x80 && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == ' ') {
			fmt.Fprintf(&b, "&#%d;", c)
		} else {
			b.WriteRune(c)
		}
	}
	return "<code>" + b.String() + "</code>"
}

// proseEscapes are what prose writes in place of characters. A comment of HTML parts what GitHub would take for the name of a person, the
// number of an issue or an address.
var proseEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`,
	"~", `\~`, "$", `\$`, "@", "@<!-- -->", "#", "#<!-- -->", "://", ":<!-- -->//", "www.", "www<!-- -->.")

// prose shows a sentence in which nothing acts: no Markdown, no HTML, no line end, no mention and no link.
func prose(s string) string { return proseEscapes.Replace(visible.Text(s)) }
