// Command cases makes what the checks in Chromium take: go run ./internal/browser/cases [-try] CANDOR FOLDER. CANDOR is the built command.
// For pages the folder gets a folder a case, with predictions, page and document, and cases.json. With -try it gets files to choose in a
// browser, what the command says of them, and trials.json.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/predictions"
)

// A page is what the checks read of a case.
type page struct {
	Name     string `json:"name"`
	Page     string `json:"page"`
	Document string `json:"document"`
	Bytes    int    `json:"bytes"`  // at most
	Sheets   int    `json:"sheets"` // of A4, at most
}

// A set is the folder of a case in the making.
type set struct {
	candor, folder string
	r              *rand.Rand
}

// run runs the command in the folder.
func (s *set) run(args ...string) {
	c := exec.Command(s.candor, args...)
	c.Dir = s.folder
	if out, err := c.CombinedOutput(); err != nil {
		log.Fatalf("candor %q: %v\n%s", args, err, out)
	}
}

func (s *set) path(name string) string { return filepath.Join(s.folder, name) }

func (s *set) npy(name string, data any, shape ...int64) {
	f, err := os.Create(s.path(name))
	check(err)
	check(predictions.WriteNPY(f, shape, data))
	check(f.Close())
}

// csv writes a table. Cells with quotes, commas or ends of lines are quoted.
func (s *set) csv(name string, rows [][]string) {
	var b strings.Builder
	for _, r := range rows {
		for i, c := range r {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.ContainsAny(c, "\",\r\n") {
				c = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
			}
			b.WriteString(c)
		}
		b.WriteByte('\n')
	}
	check(os.WriteFile(s.path(name), []byte(b.String()), 0o666))
}

func text(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// classes draws n rows of k classes whose probabilities say more (sharp > 1) or less than is so, and their labels.
func (s *set) classes(n, k int, sharp float64) (probs []float32, labels []int32) {
	z := make([]float64, k)
	for range n {
		true_ := s.r.IntN(k)
		sum, said := 0., 0.
		for j := range z {
			z[j] = s.r.NormFloat64()
			if j == true_ {
				z[j] += 2.5 + math.Log(float64(k))/2
			}
			sum += math.Exp(z[j])
			said += math.Exp(sharp * z[j])
		}
		u, at := s.r.Float64()*sum, 0
		for j := range z {
			if u -= math.Exp(z[j]); u < 0 {
				at = j
				break
			}
		}
		labels = append(labels, int32(at))
		for j := range z {
			probs = append(probs, float32(math.Exp(sharp*z[j])/said))
		}
	}
	return probs, labels
}

// binary draws n rows with P(y = 1) said and the label.
func (s *set) binary(n int, sharp float64) (probs []float32, labels []int32) {
	for range n {
		z := 1.5*s.r.NormFloat64() - .5
		label := int32(0)
		if s.r.Float64() < 1/(1+math.Exp(-z)) {
			label = 1
		}
		probs, labels = append(probs, float32(1/(1+math.Exp(-sharp*z)))), append(labels, label)
	}
	return probs, labels
}

// matrix writes p.npy and l.npy of n rows of k classes.
func (s *set) matrix(n, k int, sharp float64) []string {
	p, l := s.classes(n, k, sharp)
	s.npy("p.npy", p, int64(n), int64(k))
	s.npy("l.npy", l, int64(n))
	return []string{"eval", "p.npy", "--labels", "l.npy"}
}

func (s *set) vector(n int, sharp float64) []string {
	p, l := s.binary(n, sharp)
	s.npy("p.npy", p, int64(n))
	s.npy("l.npy", l, int64(n))
	return []string{"eval", "p.npy", "--labels", "l.npy"}
}

// hostile are names that a page must show as they are, and nothing else.
var hostile = []string{"<script>alert(1)</script>", `"a" 'b' onclick="alert(1)"`, "</script><!-- ]]> &amp; &lt;", "\u202eleft to right\u202c \u05e9\u05dc\u05d5\u05dd", "tab\tbell\abell\x1b[31mred",
	strings.Repeat("long", 75), "café 中文 😀", "{{.}} ${x} `y`"}

const small, large = 100_000, 250_000

// A pageCase is a command that writes a page.
type pageCase struct {
	name  string
	bytes int
	make  func(*set) []string // writes files and returns the command's arguments
}

var evalCases = []pageCase{
	{"two-classes", small, func(s *set) []string { return append(s.matrix(3000, 2, 1.5), "--task", "classification") }},
	{"classes-10", small, func(s *set) []string { return s.matrix(5000, 10, 1.4) }},
	{"classes-100", small, func(s *set) []string { return s.matrix(20_000, 100, 1.2) }},
	{"classes-1000", large, func(s *set) []string { return s.matrix(4000, 1000, .8) }},
	{"binary", small, func(s *set) []string { return s.vector(4000, 1.5) }},
	{"binary-calibrated", small, func(s *set) []string { return s.vector(20_000, 1) }},
	{"few-rows", small, func(s *set) []string { return s.matrix(25, 4, 1) }},
	{"no-errors", small, func(s *set) []string {
		p, l := make([]float32, 1200), make([]int32, 400)
		for i := range l {
			l[i] = int32(i % 3)
			p[3*i], p[3*i+1], p[3*i+2] = .05, .05, .05
			p[3*i+i%3] = .9
		}
		s.npy("p.npy", p, 400, 3)
		s.npy("l.npy", l, 400)
		return []string{"eval", "p.npy", "--labels", "l.npy"}
	}},
	{"zeros-and-ones", small, func(s *set) []string {
		p, l := make([]float32, 500), make([]int32, 500)
		for i := range l {
			l[i] = int32(s.r.IntN(2))
			if p[i] = float32(l[i]); s.r.IntN(20) == 0 {
				p[i] = 1 - p[i]
			}
		}
		s.npy("p.npy", p, 500)
		s.npy("l.npy", l, 500)
		return []string{"eval", "p.npy", "--labels", "l.npy"}
	}},
	{"weights", small, func(s *set) []string {
		a := s.matrix(3000, 5, 1.3)
		w := make([]float64, 3000)
		for i := range w {
			w[i] = s.r.ExpFloat64()
		}
		s.npy("w.npy", w, 3000)
		return append(a, "--weights", "w.npy")
	}},
	{"ensemble", small, func(s *set) []string {
		p, l := s.classes(2000, 10, 1)
		args := []string{"eval", "--task", "ensemble", "--labels", "l.npy"}
		s.npy("l.npy", l, 2000)
		for m := range 5 {
			q := make([]float32, len(p))
			for i := range 2000 {
				sum := float32(0)
				for j := range 10 {
					q[10*i+j] = p[10*i+j] * float32(math.Exp(.7*s.r.NormFloat64()))
					sum += q[10*i+j]
				}
				for j := range 10 {
					q[10*i+j] /= sum
				}
			}
			name := fmt.Sprintf("m%d.npy", m)
			s.npy(name, q, 2000, 10)
			args = append(args, name)
		}
		return args
	}},
	{"multilabel-14", small, func(s *set) []string {
		var p []float32
		var l []int32
		for range 14 {
			q, y := s.binary(2000, 1.3)
			p, l = append(p, q...), append(l, y...)
		}
		s.npy("p.npy", p, 2000, 14)
		s.npy("l.npy", l, 2000, 14)
		return []string{"eval", "p.npy", "--labels", "l.npy", "--task", "multilabel"}
	}},
	{"regression", small, func(s *set) []string {
		rows := [][]string{{"mean", "sd", "observed"}}
		for range 3000 {
			m, sd := 10*s.r.NormFloat64(), math.Exp(s.r.NormFloat64()/2)
			rows = append(rows, []string{text(m), text(sd), text(m + 1.3*sd*s.r.NormFloat64())})
		}
		s.csv("f.csv", rows)
		return []string{"eval", "f.csv", "--task", "regression"}
	}},
	{"quantiles", small, func(s *set) []string {
		levels := []float64{.05, .25, .5, .75, .95}
		at := []float64{-1.645, -.674, 0, .674, 1.645}
		rows := [][]string{{"observed"}}
		for _, l := range levels {
			rows[0] = append(rows[0], "q"+text(l))
		}
		for range 2000 {
			m := 5 * s.r.NormFloat64()
			row := []string{text(m + 1.2*s.r.NormFloat64())}
			for _, z := range at {
				row = append(row, text(m+z))
			}
			rows = append(rows, row)
		}
		s.csv("f.csv", rows)
		return []string{"eval", "f.csv", "--task", "quantiles", "--quantile-prefix", "q"}
	}},
	{"samples", small, func(s *set) []string {
		var p []float32
		var y []float64
		for range 1500 {
			m := s.r.NormFloat64()
			for range 20 {
				p = append(p, float32(m+.8*s.r.NormFloat64()))
			}
			y = append(y, m+s.r.NormFloat64())
		}
		s.npy("p.npy", p, 1500, 20)
		s.npy("y.npy", y, 1500)
		return []string{"eval", "p.npy", "--task", "samples", "--labels", "y.npy"}
	}},
	{"groups-1000", large, func(s *set) []string {
		p, l := s.binary(60_000, 1.2)
		rows := [][]string{{"p", "y", "site"}}
		for i := range p {
			rows = append(rows, []string{text(float64(p[i])), fmt.Sprint(l[i]), fmt.Sprint("site ", i%1000)})
		}
		s.csv("t.csv", rows)
		return []string{"eval", "t.csv", "--prob", "p", "--label", "y", "--group", "site"}
	}},
	{"hostile-classes", small, func(s *set) []string {
		k := len(hostile)
		p, l := s.classes(2500, k, 1.3)
		rows := [][]string{append([]string{"label"}, prefixed("p_", hostile)...)}
		for i := range l {
			row := []string{hostile[l[i]]}
			for j := range k {
				row = append(row, strconv.FormatFloat(float64(p[i*k+j]), 'g', 9, 64))
			}
			rows = append(rows, row)
		}
		s.csv("<b>&\"'.csv", rows)
		return []string{"eval", "<b>&\"'.csv", "--prob-prefix", "p_", "--label", "label"}
	}},
	{"hostile-groups", small, func(s *set) []string {
		p, l := s.binary(4500, 1.4)
		rows := [][]string{{"p", "y", `<i>"group"`}}
		for i := range p {
			rows = append(rows, []string{text(float64(p[i])), fmt.Sprint(l[i]), hostile[i%len(hostile)]})
		}
		s.csv("t.csv", rows)
		return []string{"eval", "t.csv", "--prob", "p", "--label", "y", "--group", `"<i>""group"""`}
	}},
}

func prefixed(p string, l []string) (out []string) {
	for _, s := range l {
		out = append(out, p+s)
	}
	return out
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	try := flag.Bool("try", false, "make what try.mjs takes, in place of pages")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: cases [-try] CANDOR FOLDER")
	}
	candor, err := filepath.Abs(flag.Arg(0))
	check(err)
	if *try {
		makeTrials(candor, flag.Arg(1))
	} else {
		makePages(candor, flag.Arg(1))
	}
}

func makePages(candor, folder string) {
	var pages []page
	for i, c := range slices.Concat(evalCases, otherCases) {
		s := &set{candor, filepath.Join(folder, c.name), rand.New(rand.NewPCG(24, uint64(i)))}
		check(os.MkdirAll(s.folder, 0o777))
		args := c.make(s)
		document, err := os.Create(s.path("document.json"))
		check(err)
		run := exec.Command(candor, append(args, "--json", "--html", "page.html")...)
		run.Dir, run.Stdout, run.Stderr = s.folder, document, os.Stderr
		if err := run.Run(); err != nil {
			log.Fatalf("%s: candor %q: %v", c.name, args, err)
		}
		check(document.Close())
		pages = append(pages, page{c.name, c.name + "/page.html", c.name + "/document.json", c.bytes, 5})
	}
	save(filepath.Join(folder, "cases.json"), pages)
}

func save(name string, v any) {
	b, err := json.MarshalIndent(v, "", "  ")
	check(err)
	check(os.WriteFile(name, b, 0o666))
}
