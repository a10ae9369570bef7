package page

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/picture"
	"github.com/candor-go/candor/report/scene"
)

// safe is HTML. Only this file turns text into it.
type safe string

var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// text escapes text, with what is not printable made visible.
func text(s string) safe { return safe(escapes.Replace(visible.Text(s))) }

// join puts HTML together.
func join(l ...safe) safe {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(string(s))
	}
	return safe(b.String())
}

// tag wraps HTML in an element. Attributes are those of the source code.
func tag(name, attributes string, in ...safe) safe {
	if attributes != "" {
		attributes = " " + attributes
	}
	return safe("<" + name + attributes + ">" + string(join(in...)) + "</" + name + ">")
}

// data is a number as it is shown, with all its digits beside it.
func data(v float64, shown string) safe {
	if math.IsNaN(v) {
		return "–"
	}
	if v == 0 {
		v = 0 // not -0
	}
	exact := strconv.FormatFloat(v, 'g', -1, 64)
	if math.IsInf(v, 0) {
		return text(minus(shown))
	}
	return tag("data", `value="`+exact+`"`, text(minus(shown)))
}

// minus writes the sign of negative numbers as one, and leaves hyphens, such as those of names, as they are.
func minus(s string) string { return negative.ReplaceAllString(s, "${1}−${2}") }

var negative = regexp.MustCompile(`(^|[\s([]|[0-9]e)-([0-9.]|Inf)`)

// count is a whole number, whose digits are all shown.
func count(n int64) safe { return text(minus(report.Count(n))) }

// percent is a share.
func percent(v float64) safe { return data(v, report.Percent(v)) }

// points is a difference of shares, signed.
func points(v float64) safe {
	if math.IsNaN(v) {
		return "–"
	}
	s := fmt.Sprintf("%+.1f", 100*v)
	if math.Abs(100*v) < 0.095 && v != 0 {
		s = fmt.Sprintf("%+.2g", 100*v)
	}
	return data(v, s)
}

// shares is an interval of shares.
func shares(i metrics.Interval) safe {
	if math.IsNaN(i.Low) {
		return ""
	}
	return join(percent(i.Low), " to ", percent(i.High))
}

// table is a table in a frame that scrolls sideways by itself.
type table struct {
	name string // for screen readers
	head []safe
	rows [][]safe
	more string // class of the table
	from int    // rows from here on are not printed; 0 prints all
}

func (t *table) html() safe {
	var head, body []safe
	for _, h := range t.head {
		head = append(head, tag("th", `scope="col"`, h))
	}
	for n, r := range t.rows {
		var cells []safe
		for i, c := range r {
			if i == 0 {
				cells = append(cells, tag("th", `scope="row"`, c))
			} else {
				cells = append(cells, tag("td", "", c))
			}
		}
		class := ""
		if t.from > 0 && n >= t.from {
			class = `class="screen"`
		}
		body = append(body, tag("tr", class, cells...))
	}
	class := ""
	if t.more != "" {
		class = `class="` + t.more + `"`
	}
	return frame(t.name, tag("table", class, caption(t.name), tag("thead", "", tag("tr", "", head...)), tag("tbody", "", body...)))
}

// caption names a table for those who cannot see it.
func caption(name string) safe { return tag("caption", `class="sr"`, text(name)) }

// frame scrolls sideways by itself.
func frame(name string, in safe) safe {
	return tag("div", `class="scroll" tabindex="0" role="region" aria-label="`+string(text(name))+`"`, in)
}

// figure is a picture with what it shows.
func figure(id string, s *scene.Scene, caption ...safe) safe {
	return tag("figure", "", safe(s.Inline(id, "")), tag("figcaption", "", caption...))
}

// cell is the picture of a number in a table.
func cell(c *picture.Cell) safe { return safe(c.Scene().Inline("", "mini")) }

// definitions is a list of terms and what they mean.
func definitions(class string, l [][2]safe) safe {
	var in []safe
	for _, d := range l {
		in = append(in, tag("div", "", tag("dt", "", d[0]), tag("dd", "", d[1])))
	}
	return tag("dl", `class="`+class+`"`, in...)
}

// details is what is shown on demand.
func details(summary string, in ...safe) safe {
	return tag("details", "", tag("summary", "", text(summary)), join(in...))
}

// sheet is a page.
type sheet struct {
	title, eyebrow string
	head           safe // of the header
	sections       []safe
	json           []byte
}

func (s *sheet) section(title string, in ...safe) {
	s.sections = append(s.sections, tag("section", "", tag("h2", "", text(title)), join(in...)))
}

// inert escapes, in JSON, what could end its element, and characters that change how text after them is shown.
func inert(j []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(j) {
		if r == '<' || r < 0x10000 && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// html returns the page.
func (s *sheet) html() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>%s</title><style>%s%s</style></head><body>
<header><p class="eyebrow">%s</p>%s</header>
<main>
`, text(s.title), scene.CSS(), style, text(s.eyebrow), s.head)
	for _, x := range s.sections {
		b.WriteString(string(x))
		b.WriteByte('\n')
	}
	b.WriteString("</main><footer><p>Made by candor. This page loads nothing; its numbers are in it as JSON.</p></footer>\n<script type=\"application/json\" id=\"candor\">")
	b.Write(inert(s.json))
	b.WriteString("</script>\n</body></html>\n")
	return b.Bytes()
}
