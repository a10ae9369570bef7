package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/recal"
)

//go:generate env CANDOR_UPDATE=1 go test -count=1 -run ^TestCorpus$ .

// corpusFile has what is expected, a line for each answer.
var corpusFile = filepath.Join("testdata", "corpus.txt")

// corpusHead is how it begins.
const corpusHead = `# What candor answers to the data and command lines of corpus_cases_test.go, on every CPU and in every build: TestCorpus.
# A line is a case, a key, and what the document or the written file has there, to the last bit; of states the SHA-256. Of a
# list of more than 5 there are four places, evenly apart, and their number; of an array of more than 8 rows eight. An answer without
# low and high has no interval, and one without exact=false is exact. go generate ./cmd/candor writes this file.
`

// corpus runs command lines and holds what they say to the file.
type corpus struct {
	t           *testing.T // of the group, or the case
	d           *dir       // of the group's files
	group, name string     // of the group, and of the case with it

	update bool                    // the file is written anew
	file   strings.Builder         // as it is then
	want   map[string][]corpusLine // by case
	seen   map[string]bool         // what the cases have reached: see corpusReach
	part   bool                    // -run has left some out
}

// corpusLine is what a case says at a key: fields, NAME=VALUE or VALUE.
type corpusLine struct {
	key    string
	fields []string
}

// TestCorpus runs with -short too where -run names it, as CI does for other builds and CPUs, and where nothing is left out.
func TestCorpus(t *testing.T) {
	if testing.Short() && !check.Full() && !strings.Contains(flag.Lookup("test.run").Value.String(), "TestCorpus") {
		t.Skip("-short: it runs hundreds of command lines, of which the other tests have examples; -run TestCorpus runs it all the same")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // hundreds of commands, each with its buffers
	c := &corpus{want: map[string][]corpusLine{}, seen: map[string]bool{}, update: os.Getenv("CANDOR_UPDATE") != ""}
	if !c.update {
		c.expect(t)
	}
	for _, g := range corpusGroups {
		ran := false
		t.Run(g.name, func(t *testing.T) {
			c.t, c.d, c.group, ran = t, newDir(t), g.name, true
			g.run(c)
		})
		c.part = c.part || !ran
	}
	if c.part || t.Failed() {
		if c.update {
			t.Fatalf("%s is as it was: every case has to run and to succeed", corpusFile)
		}
		return
	}
	for _, w := range corpusReach() {
		if !c.seen[w] {
			t.Errorf("no case has %s", w)
		}
	}
	for name := range c.want {
		if !c.seen["case "+name] {
			t.Errorf("%s has %s, which is no case", corpusFile, name)
		}
	}
	if c.update && !t.Failed() {
		if err := os.WriteFile(corpusFile, []byte(corpusHead+c.file.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// expect reads what is expected.
func (c *corpus) expect(t *testing.T) {
	b, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range strings.Split(string(b), "\n") {
		if f := strings.Split(s, " "); len(f) > 2 && f[0] != "#" {
			c.want[f[0]] = append(c.want[f[0]], corpusLine{f[1], f[2:]})
		}
	}
}

// run runs a case, and compares what it says.
func (c *corpus) run(name string, say func() []corpusLine) {
	group := c.t
	defer func() { c.t = group }()
	group.Run(name, func(t *testing.T) {
		c.t, c.name = t, c.group+"/"+name
		if c.seen["case "+c.name] {
			t.Fatalf("there are two cases %s", c.name)
		}
		c.seen["case "+c.name] = true
		got := say()
		for _, l := range got {
			fmt.Fprintln(&c.file, c.name, l.key, strings.Join(l.fields, " "))
		}
		if !c.update {
			c.compare(got, c.want[c.name])
		}
	})
	c.part = c.part || !c.seen["case "+c.group+"/"+name]
}

// compare tells where lines are not what is expected.
func (c *corpus) compare(got, want []corpusLine) {
	if len(want) == 0 {
		c.t.Fatalf("%s has no such case: go generate ./cmd/candor writes it", corpusFile)
	}
	var wrong []string
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			c.t.Fatalf("there is no %s", want[i].key)
		case i >= len(want) || got[i].key != want[i].key || len(got[i].fields) != len(want[i].fields):
			c.t.Fatalf("line %d is %v, expected %v", i+1, got[i], want[i:min(i+1, len(want))])
		}
		for j, f := range got[i].fields {
			if w := want[i].fields[j]; f != w {
				wrong = append(wrong, fmt.Sprintf("%s: got %s, expected %s", got[i].key, f, w))
			}
		}
	}
	if n := len(wrong); n > 8 {
		wrong = append(wrong[:8], fmt.Sprintf("and %d more", n-8))
	}
	if len(wrong) > 0 {
		c.t.Error(strings.Join(wrong, "\n"))
	}
}

// candor runs a command line that has to succeed, and returns what it prints.
func (c *corpus) candor(args ...string) string {
	c.t.Helper()
	out := printed(c.t, args...)
	command := args[0]
	if command == "recal" {
		command += " " + args[1]
		method, _, _ := strings.Cut(args[2], "(")
		c.seen[command+" "+method] = true
	}
	for i, a := range args {
		if strings.HasPrefix(a, "-") {
			c.seen[command+" "+a] = true
			if i+1 < len(args) {
				c.seen[a+" "+args[i+1]] = true
			}
		}
	}
	return out
}

// eval is a case of candor eval, by its document, which has the hash of the state.
func (c *corpus) eval(name string, args ...string) {
	c.run(name, func() []corpusLine { return c.document(c.candor(append([]string{"eval", "--json"}, args...)...)) })
}

// stated is one by its state's file too. It returns both.
func (c *corpus) stated(name string, args ...string) (doc, state string) {
	state = c.d.at(strings.ReplaceAll(name, "/", "-") + ".state")
	c.run(name, func() []corpusLine {
		doc = c.candor(append([]string{"eval", "--json", "--state", state}, args...)...)
		return append(c.document(doc), corpusLine{"file", []string{digest(c.d.read(state))}})
	})
	return doc, state
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// node is a part of a JSON document, whose order it keeps.
type node struct {
	name string
	leaf string // "" of an object or a list
	list bool
	kids []node
}

// unsaid are the fields of documents that are text, those that say what was asked for, and what most answers have.
var unsaid = strings.Fields("schema verdict text bins_text method reason better level spec warnings says name exact=true low=null high=null")

// document returns what a JSON document has, without text.
func (c *corpus) document(doc string) (l []corpusLine) {
	c.t.Helper()
	checkSchema(c.t, doc)
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var parse func() node
	parse = func() (n node) {
		tok, err := d.Token()
		if err != nil {
			c.t.Fatal(err)
		}
		switch v := tok.(type) {
		case json.Delim:
			n.list = v == '['
			for d.More() {
				name := ""
				if !n.list {
					tok, err := d.Token()
					if err != nil {
						c.t.Fatal(err)
					}
					name = tok.(string)
				}
				k := parse()
				k.name = name
				n.kids = append(n.kids, k)
			}
			if _, err := d.Token(); err != nil {
				c.t.Fatal(err)
			}
		case json.Number:
			n.leaf = v.String()
		case string:
			if n.leaf = v; v == "" || strings.ContainsAny(v, " =\"\n") {
				n.leaf = strings.ReplaceAll(strconv.Quote(v), " ", `\x20`)
			}
		default:
			n.leaf = fmt.Sprint(map[any]any{nil: "null", true: true, false: false}[v])
		}
		return n
	}
	top := parse()
	c.note(&top)
	return flat("", &top)
}

// flat returns the lines of a part of a document: one of what it has itself, and those of its parts.
func flat(key string, n *node) (l []corpusLine) {
	own := corpusLine{key: key}
	step := 1
	if n.list && len(n.kids) > 5 {
		step = (len(n.kids) + 3) / 4
		own.fields = []string{fmt.Sprint("of=", len(n.kids))}
	}
	for i := range n.kids {
		k := &n.kids[i]
		if n.list && i%step != 0 || slices.Contains(unsaid, k.name) || slices.Contains(unsaid, k.name+"="+k.leaf) {
			continue
		}
		switch {
		case k.leaf != "" && n.list:
			own.fields = append(own.fields, k.leaf)
		case k.leaf != "":
			own.fields = append(own.fields, k.name+"="+k.leaf)
		default:
			at := key
			switch {
			case n.list:
				at += fmt.Sprintf("[%d]", i)
			case k.name == "metrics":
			case key == "":
				at = k.name
			default:
				at += "." + k.name
			}
			l = append(l, flat(at, k)...)
		}
	}
	if len(own.fields) > 0 {
		if own.key == "" {
			own.key = "."
		}
		l = append([]corpusLine{own}, l...)
	}
	return l
}

// note notes what a document has: the type and kind of scores, and the metrics that have a value, with their options.
func (c *corpus) note(n *node) {
	for _, k := range n.kids {
		switch k.name {
		case "input":
			of := map[string]string{}
			for _, f := range k.kids {
				of[f.name] = f.leaf
			}
			c.seen["kind "+of["kind"]+" "+of["dtype"]] = true
		case "metrics":
			for _, m := range k.kids {
				if len(m.kids) == 0 || m.kids[0].leaf == "null" { // a p-value of a drift, or no value
					continue
				}
				name, options, _ := strings.Cut(strings.TrimSuffix(m.name, ")"), "(")
				c.seen["metric "+name] = true
				for _, o := range strings.Split(options, ",") {
					number, _, _ := strings.Cut(o, "=")
					c.seen["metric "+name+"("+o+")"], c.seen["metric "+name+"("+number+")"] = true, true
				}
			}
		}
		c.note(&k)
	}
}

// noNumbers are the flags that change no number, and noFlags those that a command refuses.
var (
	noNumbers = strings.Fields("help name json html format plot plot-y plot-kind report fail-if require min-rows threads max-memory")
	noFlags   = []string{"compare --decisions", "compare --confidence-scores"}
)

// corpusReach is what the cases have to reach: all that there is of everything that a user can ask for.
func corpusReach() (l []string) {
	for _, d := range eval.Descriptors() {
		l = append(l, "metric "+d.Name)
		for _, o := range strings.Split(d.Options, ", ") {
			name, words, _ := strings.Cut(o, "=")
			for _, w := range strings.Split(words, "|") {
				switch {
				case name == "":
				case strings.Contains(words, "|"):
					l = append(l, "metric "+d.Name+"("+name+"="+w+")")
				default:
					l = append(l, "metric "+d.Name+"("+name+")")
				}
			}
		}
	}
	for k := metrics.Kind(0); k.Valid(); k++ {
		l = append(l, "kind "+k.String()+" float64", "kind "+k.String()+" float32")
		if k <= metrics.Dirichlet {
			l = append(l, "kind "+k.String()+" float16", "kind "+k.String()+" bfloat16")
		}
	}
	for _, name := range tasks {
		l = append(l, "--task "+name)
	}
	for _, name := range []string{"um", "tfp", "torchmetrics", "guo", "blog"} {
		l = append(l, "--like "+name)
	}
	for _, name := range recal.Names() {
		l = append(l, "recal fit "+name, "recal apply "+name)
	}
	for _, name := range []string{"eval", "compare", "drift", "score", "merge", "recal fit", "recal apply"} {
		c, _, err := rootCommand().Find(strings.Fields(name))
		if err != nil {
			panic(err)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if w := name + " --" + f.Name; !f.Hidden && !slices.Contains(noNumbers, f.Name) && !slices.Contains(noFlags, w) {
				l = append(l, w)
			}
		})
	}
	return l
}

// array returns what an .npy of numbers has that the command has written: its hash, how many are NaN, and some rows.
func array(b []byte) (l []corpusLine) {
	head := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	columns := 1
	if m := regexp.MustCompile(`'shape': \(\d+, (\d+)\)`).FindSubmatch(b[:head]); m != nil {
		columns, _ = strconv.Atoi(string(m[1]))
	}
	var v []float64
	nan := 0
	for d := b[head:]; len(d) > 0; {
		x := 0.0
		if bytes.Contains(b[:head], []byte("'<f8'")) {
			x, d = math.Float64frombits(binary.LittleEndian.Uint64(d)), d[8:]
		} else {
			x, d = float64(math.Float32frombits(binary.LittleEndian.Uint32(d))), d[4:]
		}
		if x != x {
			nan++
		}
		v = append(v, x)
	}
	rows := len(v) / columns
	l = append(l, corpusLine{"rows", []string{fmt.Sprint("of=", rows), fmt.Sprint("nan=", nan), digest(b)}})
	for i := 0; i < rows; i += (rows + 7) / 8 {
		r := corpusLine{key: fmt.Sprintf("rows[%d]", i)}
		for j := 0; j < columns; j += (columns + 9) / 10 {
			r.fields = append(r.fields, strconv.FormatFloat(v[i*columns+j], 'g', -1, 64))
		}
		l = append(l, r)
	}
	return l
}
