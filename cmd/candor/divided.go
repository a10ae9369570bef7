package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/sharding"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
)

// divideFlags are the flags of a run that is divided among machines.
type divideFlags struct {
	text  string // of --shard
	list  string // of --files-from
	shard sharding.Shard
}

func (d *divideFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&d.text, "shard", "", "`I/N`: read only shard I of N, counted from 0; slurm takes both from a job array, k8s/N takes I from an Indexed Job")
	c.Flags().StringVar(&d.list, "files-from", "", "`FILE` with the names of the predictions, one per line; - is standard input")
}

// some reports whether one of several shards is read.
func (d *divideFlags) some() bool { return d.shard.Of > 1 }

// named returns the files of predictions: those of the command line, and those of a list.
func (d *divideFlags) named(c *cobra.Command, paths []string) ([]string, error) {
	if d.list == "" {
		return paths, nil
	}
	in, name := io.Reader(c.InOrStdin()), "standard input"
	if d.list != "-" {
		f, err := os.Open(d.list)
		if err != nil {
			return nil, fault(d.list, "check the name and the permissions", "%v", unwrapPath(err))
		}
		defer f.Close()
		in, name = f, d.list
	} else if slices.Contains(paths, "-") {
		return nil, usage("--files-from -: standard input is among the predictions, too; name a file for one of them")
	}
	found := 0
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch p := strings.TrimRight(lines.Text(), "\r"); p {
		case "":
		case "-":
			return nil, fault(name, "name files only", "the list names -, standard input, which cannot be an item of it")
		default:
			paths, found = append(paths, p), found+1
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fault(name, "name one file on each line", "cannot be read: %v", unwrapPath(err))
	}
	if found == 0 {
		return nil, fault(name, "name one file on each line", "no file is named")
	}
	return paths, nil
}

// check reads --shard.
func (d *divideFlags) check(c *cobra.Command, f *evalRun, paths, others []string) (err error) {
	if d.text == "" {
		return nil
	}
	if d.shard, err = sharding.Parse(d.text, os.Getenv); err != nil {
		return usage("--shard %s: %v", d.text, err)
	}
	if len(paths) == 0 && !f.columns.files() {
		return usage("--shard: no predictions are named; name their files, or a list of them by --files-from")
	}
	for _, l := range []struct {
		flag, why string
		set       bool
	}{{"--first-row", "which knows where it begins", c.Flags().Changed("first-row")},
		{"--sequence", "which would cut sequences in two", len(f.tokens.sequences) > 0},
		{"--temperature-scaled", "which has no answer for all rows", f.scaled},
		{"--pivot", "which would cut examples in two", f.table.pivot != ""},
		{"--from " + f.choices.from, "since its files are read as a whole", f.choices.from != ""}} {
		if l.set {
			return usage("--shard does not go with %s, %s; leave one of them out", l.flag, l.why)
		}
	}
	if once := f.files.once(slices.Concat(paths, others)...); once != "" {
		return usage("--shard: %s can be read only once, and every shard reads some of it; write it to a file", once)
	}
	return nil
}

// share returns the share of the rows that readers read.
func (d *divideFlags) share() predictions.Share {
	return predictions.Share{Index: d.shard.Index, Of: d.shard.Of}
}

// numbered reports whether an evaluation needs the number of each row among all rows.
func numberedRows(e *eval.Evaluation) bool {
	return e.NumbersRows() || (e.Spec.Kind == metrics.Samples || e.Spec.Kind == metrics.Quantiles) && (e.PIT() != nil || e.Ranks() != nil)
}

// mark returns the mark of the shard.
func (d *divideFlags) mark(j *job, f *evalFlags, paths []string) (sharding.Mark, error) {
	if !d.some() {
		return sharding.Mark{}, nil
	}
	if len(paths) == 0 {
		paths = f.columns.named()
	}
	id, err := runID(j.read.FS, paths)
	if err != nil {
		return sharding.Mark{}, err
	}
	return sharding.New(id, d.shard), nil
}

// runID returns what tells the predictions of a divided run from others: the number of files, and the size, the beginning and the end of
// the first. Their names do not count, as they may differ between machines.
func runID(from fs.FS, paths []string) (id [16]byte, err error) {
	h := sha256.New()
	paths = slices.Clone(paths)
	predictions.NaturalSort(paths)
	sum, size, err := endsOf(from, firstFile(from, paths[0]))
	if err != nil {
		return id, err
	}
	var n [16]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(paths)))
	binary.LittleEndian.PutUint64(n[8:], uint64(size))
	h.Write(n[:])
	h.Write(sum[:])
	copy(id[:], h.Sum(nil))
	return id, nil
}

// firstFile returns the first file of a folder, or a path itself. The name of an array behind that of an .npz is left out.
func firstFile(from fs.FS, path string) string {
	fi, err := statOf(from, path)
	if err != nil {
		if file, _, ok := cutLast(path, ":"); ok {
			return file
		}
		return path
	}
	if fi.IsDir() {
		first := ""
		_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && (predictions.HasColumns(name) || predictions.IsTable(name)) {
				first = name
				return fs.SkipAll
			}
			return nil
		})
		return first
	}
	return path
}

// ends is how many bytes of the beginning and of the end of a file tell it from others.
const ends = 64 << 10

// endsOf returns the checksum of both ends of a file, and its size.
func endsOf(from fs.FS, path string) (sum [sha256.Size]byte, size int64, err error) {
	bad := func(err error) error {
		return fault(path, "check the name and the permissions", "%v", unwrapPath(err))
	}
	var f fs.File
	if from != nil {
		f, err = from.Open(path)
	} else {
		f, err = os.Open(path)
	}
	if err != nil {
		return sum, 0, bad(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return sum, 0, bad(err)
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		return sum, 0, fault(path, "write it to a file", "it is not read at any place")
	}
	size = fi.Size()
	h := sha256.New()
	for _, part := range [][2]int64{{0, min(size, ends)}, {max(0, size-ends), size}} {
		if _, err := io.Copy(h, io.NewSectionReader(at, part[0], part[1]-part[0])); err != nil {
			return sum, 0, bad(err)
		}
	}
	h.Sum(sum[:0])
	return sum, size, nil
}

// told says which shard was read. It returns true if the shard has no rows, of which there is nothing to show.
func (d *divideFlags) told(c *cobra.Command, rows int64) (done bool, err error) {
	switch {
	case !d.some():
		return false, nil
	case rows == 0:
		tell(c, "", "Shard %d of %d has no rows.", d.shard.Index, d.shard.Of)
		return true, nil
	}
	warn(c, "these are the rows of shard %d of %d; candor merge has the answers for all", d.shard.Index, d.shard.Of)
	return false, nil
}
