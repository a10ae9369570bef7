package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/sharding"
	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/eval/grouped"
	"github.com/candor-go/candor/metrics/eval/multilabel"
	"github.com/candor-go/candor/metrics/eval/sliced"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
	"github.com/candor-go/candor/report"
	"github.com/spf13/cobra"
)

func inspectCommand() *cobra.Command {
	var form sheetForm
	var files sources
	c := &cobra.Command{
		Use:   "inspect FILE...",
		Short: "Describe a file without reading it whole",
		Long: `Describe files: the arrays of .npy and .npz files with their types, shapes and orders, from the headers; the columns of a table
(.csv, .tsv, .txt, .jsonl, .parquet, .arrow, .safetensors), with a command that probably evaluates it; and what a state of
candor eval --state was made from. "-" is standard input. A file may be a presigned URL,
https://..., of which little is read; a state may not.`,
		Example: `  candor inspect preds.npz
  candor inspect predictions.csv
  candor inspect all.state --json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return unnamed(c, "no file is named")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			args = matched(args)
			if err := form.checkForm(c); err != nil {
				return err
			}
			if err := files.check(args...); err != nil {
				return err
			}
			if name, n := files.twice(args); n > 1 {
				return about(usage("%s is named %d times, and can be read once; name it once", name, n), name)
			}
			from, err := openURLs(&args)
			if err != nil {
				return err
			}
			var out bytes.Buffer
			var docs []any
			for _, path := range args {
				var v any
				if from != nil && strings.Contains(path, "://") {
					v, err = inspectURL(&out, from, path)
				} else {
					v, err = inspect(&out, &files, c.InOrStdin(), path)
				}
				if err != nil {
					return err
				}
				docs = append(docs, v)
			}
			return form.write(c, out.Bytes(), sheetOf(docs), func(w io.Writer) error {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				return enc.Encode(docs)
			})
		},
	}
	form.form(c)
	c.Flags().Lookup("json").Usage = "print a JSON array, an object for each file; the same as --format json"
	files.flags(c)
	return c
}

type inspected struct {
	File   string      `json:"file"`
	Format string      `json:"format"`
	Arrays []arrayInfo `json:"arrays,omitempty"`
	State  *stateInfo  `json:"state,omitempty"`
	Table  *tableInfo  `json:"table,omitempty"`
}

// sheetOf returns a row for each array, column and fact of a state.
func sheetOf(docs []any) *sheet {
	s := &sheet{head: []string{"file", "format", "part", "name", "type", "value"}}
	for _, d := range docs {
		in := d.(inspected)
		for _, a := range in.Arrays {
			s.add(in.File, in.Format, "array", a.Name, a.DType, shape(a.Shape))
		}
		if t := in.Table; t != nil {
			for _, c := range t.Columns {
				s.add(in.File, in.Format, "column", c.Name, c.Type, c.First)
			}
			if t.Command != "" {
				s.add(in.File, in.Format, "command", "", "", t.Command)
			}
		}
		if t := in.State; t != nil {
			for _, f := range [][2]string{{"rows", fmt.Sprint(t.Rows)}, {"dropped", fmt.Sprint(t.Dropped)}, {"classes", fmt.Sprint(t.Classes)}, {"task", t.Task}, {"dtype", t.DType}, {"kind", t.Kind},
				{"groups", strings.Join(t.Groups, ", ")}, {"slices", strings.Join(t.Slices, ", ")}, {"models", strings.Join(t.Models, ", ")}, {"metrics", strings.Join(t.Metrics, ", ")}, {"sha256", t.SHA256}, {"version", fmt.Sprint(t.Version)}, {"bytes", fmt.Sprint(t.Bytes)}} {
				if f[1] != "" {
					s.add(in.File, in.Format, "state", f[0], "", f[1])
				}
			}
			for _, p := range t.Parts {
				s.add(in.File, in.Format, "part", p.Name, fmt.Sprint(p.Count), fmt.Sprint(p.Bytes))
			}
		}
	}
	return s
}

type tableInfo struct {
	Columns   []columnInfo `json:"columns"`
	Separator string       `json:"separator,omitempty"`
	Rows      int64        `json:"rows"`
	Comma     bool         `json:"decimal_comma"`
	Command   string       `json:"command,omitempty"`
}

type columnInfo struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Stored string `json:"stored,omitempty"` // what a format with types calls it
	First  string `json:"first"`
}

type arrayInfo struct {
	Name     string  `json:"name"`
	DType    string  `json:"dtype"`
	Descr    string  `json:"descr"`
	Shape    []int64 `json:"shape"`
	Order    string  `json:"order"`
	Endian   string  `json:"endian"`
	Bytes    int64   `json:"bytes"`
	Deflated bool    `json:"deflated"`
}

type stateInfo struct {
	Rows    int64    `json:"rows"`
	Dropped int64    `json:"dropped"`
	Classes int      `json:"classes"`
	Choices string   `json:"choices,omitempty"`
	Names   []string `json:"class_names,omitempty"`
	Labels  int      `json:"labels,omitempty"`      // of a multi-label task
	Called  []string `json:"label_names,omitempty"` // the labels
	Binary  bool     `json:"binary"`
	Task    string   `json:"task"`
	DType   string   `json:"dtype"`
	Kind    string   `json:"kind"`
	Metrics []string `json:"metrics"`
	LeftOut []string `json:"left_out,omitempty"` // what is not kept, since no metric needs it
	SHA256  string   `json:"sha256"`
	Groups  []string `json:"groups,omitempty"` // grouping columns
	Each    int      `json:"number_of_groups,omitempty"`
	Slices  []string `json:"slices,omitempty"` // columns
	Models  []string `json:"models,omitempty"` // of a comparison

	Shards []shardInfo `json:"shards,omitempty"`

	Version int        `json:"version"` // of the format
	Bytes   int        `json:"bytes"`
	Parts   []partInfo `json:"parts,omitempty"`
}

// partInfo is a part of a state, or several of one kind together.
type partInfo struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
	Bytes int64  `json:"bytes"`
}

// partsOf returns the parts of a state, those of one kind together.
func partsOf(e *eval.Evaluation) ([]partInfo, error) {
	parts, err := e.Parts()
	var l []partInfo
	for _, p := range parts {
		i := slices.IndexFunc(l, func(o partInfo) bool { return o.Name == p.Name })
		if i < 0 {
			i = len(l)
			l = append(l, partInfo{Name: p.Name})
		}
		l[i].Count++
		l[i].Bytes += p.Bytes
	}
	return l, err
}

// formatOf describes the form of a state: version, bytes, and parts if there are any.
func formatOf(s *stateInfo) string {
	var parts []string
	for _, p := range s.Parts {
		name := p.Name
		if p.Count > 1 {
			name = fmt.Sprintf("%d %s", p.Count, name)
		}
		parts = append(parts, fmt.Sprintf("%s %s", name, report.Count(p.Bytes)))
	}
	out := fmt.Sprintf("version %d, %s bytes", s.Version, report.Count(int64(s.Bytes)))
	if parts != nil {
		out += ": " + strings.Join(parts, ", ")
	}
	return out
}

// shardInfo says which shards of a divided run a state holds.
type shardInfo struct {
	Run  string `json:"run"`
	Of   int    `json:"of"`
	Held string `json:"held"`
}

func shardInfos(m *sharding.Mark) (l []shardInfo) {
	for _, g := range m.Held() {
		l = append(l, shardInfo{g.RunID(), g.Of, g.String()})
	}
	return l
}

func inspect(w io.Writer, files *sources, stdin io.Reader, path string) (any, error) {
	if !readOnce(path) && predictions.HasColumns(path) {
		return inspectTable(w, nil, path, cmp.Or(files.names[path], path))
	}
	// What can be read only once is not opened again.
	head, rest, size, err := files.open(stdin, path)
	if err == nil {
		defer rest.Close()
	}
	name := cmp.Or(files.names[path], path)
	if err == nil && isMagic(head) {
		b, err := files.readRest(head, rest, path, size, maxState)
		if err != nil {
			return nil, err
		}
		state, mark, err := unmarked(b, name)
		if err != nil {
			return nil, err
		}
		in, err := inspectState(w, state, name)
		if i, ok := in.(inspected); ok {
			i.State.Version, i.State.Bytes = int(binary.LittleEndian.Uint16(state[4:])), len(b)
			if i.State.Parts == nil {
				i.State.Parts = partsIn(state)
			}
			hang(w, "  format  ", formatOf(i.State), screenOf(w).width)
		}
		if i, ok := in.(inspected); ok && !mark.Whole() {
			i.State.Shards = shardInfos(&mark)
			fmt.Fprintf(w, "  %s\n", shardsOf(&mark))
		}
		return in, err
	}
	if err == nil && !readOnce(path) && predictions.IsTable(path) {
		return inspectTable(w, nil, path, name)
	}
	var arrays []predictions.Array
	if err == nil && readOnce(path) {
		if !bytes.HasPrefix(head, []byte("\x93NUMPY")) {
			t, err := predictions.InspectTableReader(io.MultiReader(bytes.NewReader(head), rest), files.call(path))
			if err != nil {
				return nil, badData(err)
			}
			return describeTable(w, &t, name), nil
		}
		arrays, err = predictions.InspectReader(io.MultiReader(bytes.NewReader(head), rest), name)
	} else {
		arrays, err = predictions.Inspect(path)
		var e *predictions.Error
		if errors.As(err, &e) {
			e.File = name + strings.TrimPrefix(e.File, path)
		}
	}
	if err != nil {
		return nil, badData(err)
	}
	return describe(w, arrays, name), nil
}

// inspectURL describes a file at a URL, of which it reads the parts that say what it is.
func inspectURL(w io.Writer, from fs.FS, path string) (any, error) {
	if predictions.HasColumns(path) || predictions.IsTable(path) {
		return inspectTable(w, from, path, path)
	}
	arrays, err := predictions.InspectIn(from, path)
	if err != nil {
		return nil, badData(err)
	}
	return describe(w, arrays, path), nil
}

func inspectTable(w io.Writer, from fs.FS, path, name string) (any, error) {
	t, err := predictions.InspectTableIn(from, path)
	if err != nil {
		return nil, badData(err)
	}
	return describeTable(w, &t, name), nil
}

// inspectState describes a state.
func inspectState(w io.Writer, b []byte, path string) (any, error) {
	if bytes.HasPrefix(b, []byte(multilabel.Magic)) {
		return inspectLabels(w, b, path)
	}
	var models []string
	var e *eval.Evaluation
	var groups *grouped.Evaluation
	var err error
	sum, what := "", "an evaluation"
	var slicedBy []string
	if bytes.HasPrefix(b, []byte(sliced.Magic)) {
		all := new(sliced.Evaluation)
		if err := decodeState(all, sliced.Magic, b, path); err != nil {
			return nil, err
		}
		for _, c := range all.Columns {
			slicedBy = append(slicedBy, c.Name)
		}
		id := sha256.Sum256(b)
		e, sum = all.Whole(), hex.EncodeToString(id[:])
	} else if bytes.HasPrefix(b, []byte(compared.Magic)) {
		all := new(compared.Comparison)
		if err := decodeState(all, compared.Magic, b, path); err != nil {
			return nil, err
		}
		for _, m := range all.Models() {
			models = append(models, m.Name)
		}
		e, sum, what = all.Models()[0].Evaluation, all.SHA256(), "a comparison"
	} else if e, groups, err = decodeGroups(b, path); err != nil {
		return nil, err
	}
	in := report.InputOf(e)
	s := &stateInfo{Rows: in.Rows, Dropped: in.Dropped, Classes: in.Classes, Choices: in.Choices.String(), Names: in.ClassNames, Binary: in.Binary, Task: in.Task, DType: in.DType, Kind: in.Kind, SHA256: cmp.Or(sum, e.SHA256()), Models: models, Slices: slicedBy}
	for _, m := range e.Spec.Metrics {
		s.Metrics = append(s.Metrics, m.String())
	}
	s.LeftOut = e.Spec.LeftOut()
	classes := report.Count(int64(s.Classes)) + " classes"
	switch {
	case s.Binary:
		classes = "binary"
	case s.Choices != "":
		classes = "up to " + report.Count(int64(s.Classes)) + " choices"
	}
	if in.Classes == 0 {
		classes = "forecasts of numbers"
	}
	if s.Dropped > 0 {
		classes += ", " + report.Count(s.Dropped) + " bad rows left out"
	}
	if groups == nil && models == nil && slicedBy == nil {
		if s.Parts, err = partsOf(e); err != nil {
			return nil, err
		}
	}
	if groups != nil {
		s.Groups, s.Each = groups.Columns, groups.Len()
		classes += fmt.Sprintf(", %d groups by %s", s.Each, strings.Join(visible.Texts(s.Groups), ", "))
	}
	if slicedBy != nil {
		classes += ", sliced by " + strings.Join(visible.Texts(slicedBy), ", ")
	}
	fmt.Fprintf(w, "%s: state of %s\n  %s rows, %s, %s %s\n", visible.Text(path), what, report.Count(s.Rows), classes, s.DType, s.Kind)
	if s.Names != nil {
		hang(w, "  classes ", strings.Join(visible.Texts(s.Names), ", "), screenOf(w).width)
	}
	if models != nil {
		hang(w, "  models  ", strings.Join(visible.Texts(models), ", "), screenOf(w).width)
	}
	hang(w, "  metrics ", strings.Join(s.Metrics, ", "), screenOf(w).width)
	if s.LeftOut != nil {
		hang(w, "  left out ", strings.Join(s.LeftOut, ", ")+", which these metrics do not need", screenOf(w).width)
	}
	fmt.Fprintf(w, "  sha256  %s\n", s.SHA256)
	return inspected{File: path, Format: "state", State: s}, nil
}

// describe describes the arrays of a file.
func describe(w io.Writer, arrays []predictions.Array, path string) any {
	in := inspected{File: path, Format: "npy"}
	if strings.HasSuffix(path, ".npz") || len(arrays) > 1 {
		in.Format = "npz"
	}
	fmt.Fprintf(w, "%s: %s\n", visible.Text(path), in.Format)
	twoColumns := false
	for _, a := range arrays {
		i := arrayInfo{Name: a.Name, DType: a.DType, Descr: a.Descr, Shape: a.Shape, Order: "C", Endian: "little", Bytes: a.Bytes, Deflated: a.Deflated}
		if a.Fortran {
			i.Order = "Fortran"
		}
		if a.BigEndian {
			i.Endian = "big"
		}
		in.Arrays = append(in.Arrays, i)
		extra := ""
		if a.BigEndian {
			extra += ", big-endian"
		}
		if a.Deflated {
			extra += ", deflated"
		}
		fmt.Fprintf(w, "  %-16s %-10s %-20s %s order, %s bytes%s\n", visible.Text(a.Name), a.DType, shape(a.Shape), i.Order, report.Count(a.Bytes), extra)
		twoColumns = twoColumns || len(a.Shape) == 2 && a.Shape[1] == 2 && strings.HasPrefix(a.DType, "float")
	}
	if twoColumns {
		fmt.Fprintln(w, "  as scores two columns are a binary task: P(y = 1) is column 1 (--event 0: column 0; --task classification: two classes)")
	}
	return in
}

// describeTable describes a table, and suggests the command line that evaluates it.
func describeTable(w io.Writer, t *predictions.Table, path string) any {
	info := &tableInfo{Comma: t.Comma, Rows: t.Rows}
	format := t.Format
	if format == "text" {
		format, info.Separator = "table", string(t.Separator)
	}
	fmt.Fprintf(w, "%s: %v\n", visible.Text(path), t)
	const most = 30
	width, kinds := 6, len("numbers")
	typed := t.Format != "text" && t.Format != "jsonl"
	kindOf := func(c *predictions.TableColumn) string {
		if !typed || c.Type == "" {
			return c.Kind.String()
		}
		return c.Kind.String() + ", " + visible.Text(shortened(c.Type, 30))
	}
	for _, c := range t.Columns[:min(len(t.Columns), most)] {
		kinds = max(kinds, utf8.RuneCountInString(kindOf(&c)))
		width = max(width, min(30, len(visible.Text(c.Name))))
	}
	for i, c := range t.Columns {
		kind := kindOf(&c)
		info.Columns = append(info.Columns, columnInfo{Name: c.Name, Type: c.Kind.String(), First: c.First})
		if typed {
			info.Columns[i].Stored = c.Type
		}
		switch {
		case i < most:
			fmt.Fprintf(w, "  %-*s  %-*s  %s\n", width, visible.Text(shortened(c.Name, 30)), kinds, kind, visible.Text(shortened(c.First, 40)))
		case i == most:
			fmt.Fprintf(w, "  and %d more columns\n", len(t.Columns)-most)
		}
	}
	if what, why := t.Log(); why != "" {
		fmt.Fprintf(w, "It is %s: %s.\n", what, why)
	} else if info.Command = commandFor(t, path); info.Command != "" {
		fmt.Fprintf(w, "Likely: %s\n", visible.Text(info.Command))
	}
	return inspected{File: path, Format: format, Table: info}
}

// commandFor returns the likely command to evaluate a table, or "" if no columns look like scores.
func commandFor(t *predictions.Table, path string) string {
	p := t.Propose()
	args := []string{"candor", "eval", path}
	if what, _ := t.Log(); what != "" {
		return quotedArgs(append(args, "--from", harness))
	}
	if forecast := forecastFlags(t); forecast != nil {
		return quotedArgs(append(args, forecast...))
	}
	switch {
	case p.Prefix != nil:
		args = append(args, "--prob-prefix", *p.Prefix)
	case len(p.Scores) > 0:
		args = append(args, "--prob", strings.Join(p.Scores, ","))
	default:
		return ""
	}
	if strings.Contains(strings.ToLower(args[len(args)-1]), "logit") {
		args = append(args, "--input", "logits")
	}
	label := p.Label
	if label == "" {
		label = "COLUMN"
	}
	args = append(args, "--labels", label)
	of := func(name string) (k roles.Kind) {
		if i := slices.IndexFunc(t.Columns, func(c predictions.TableColumn) bool { return c.Name == name }); i >= 0 {
			k = t.Columns[i].Kind
		}
		return k
	}
	switch {
	case len(p.Classes) > 0:
		args = append(args, "--classes", strings.Join(p.Classes, ","))
	case len(p.Scores) == 1 && of(p.Scores[0]) == roles.List && of(label) == roles.Text:
		args = append(args, "--classes", "NAMES")
	}
	if p.Weight != "" {
		args = append(args, "--weights", p.Weight)
	}
	return quotedArgs(args)
}

// forecastFlags returns the flags that likely evaluate a table of regression forecasts; nil if it does not look like one.
func forecastFlags(t *predictions.Table) []string {
	first := func(name string) (value string, ok bool) {
		i := slices.IndexFunc(t.Columns, func(c predictions.TableColumn) bool { return c.Name == name })
		if i < 0 {
			return "", false
		}
		return t.Columns[i].First, true
	}
	has := func(name string) bool { _, ok := first(name); return ok }
	if output, ok := first("output_type"); ok && has("output_type_id") && has("value") {
		args := []string{"--from", "hubverse", "--oracle", "FILE"}
		if target, ok := first("target"); ok {
			args = append(args, "--target", target)
		}
		return append(args, "--output-type", output)
	}
	if has("unique_id") && has("ds") {
		for _, c := range t.Columns {
			if model, level, ok := strings.Cut(c.Name, "-lo-"); ok && has(model+"-hi-"+level) {
				args := []string{"--from", "nixtla", "--model", model}
				if !has("y") {
					args = append(args, "--oracle", "FILE")
				}
				return args
			}
		}
	}
	var observed []string
	switch {
	case has("observed"):
	case has("y"):
		observed = []string{"--observed", "y"}
	default:
		return nil
	}
	quantiles := 0
	for _, c := range t.Columns {
		if level, err := strconv.ParseFloat(strings.TrimPrefix(c.Name, "q"), 64); strings.HasPrefix(c.Name, "q") && err == nil && 0 < level && level < 1 {
			quantiles++
		}
	}
	switch {
	case quantiles > 1:
		return append([]string{"--task", "quantiles", "--quantile-prefix", "q"}, observed...)
	case has("mean") && has("sd"):
		return append([]string{"--task", "regression"}, observed...)
	}
	return nil
}

// quotedArgs returns a command line, with quotes as a shell needs them.
func quotedArgs(args []string) string {
	for i, a := range args {
		if strings.ContainsAny(a, " '\"$&;|*?()<>\\`!#") || a == "" {
			args[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(args, " ")
}

// shortened cuts a text that is longer than so many characters.
func shortened(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return s
}

func shape(s []int64) string {
	p := make([]string, len(s))
	for i, n := range s {
		p[i] = fmt.Sprint(n)
	}
	if len(p) == 1 {
		return "(" + p[0] + ",)"
	}
	return "(" + strings.Join(p, ", ") + ")"
}
