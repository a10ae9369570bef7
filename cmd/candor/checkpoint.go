package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/candor-go/candor/internal/sharding"
	"github.com/candor-go/candor/internal/temporary"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// checkpointFlags are the flags of a run that saves what it has done.
type checkpointFlags struct {
	file   string
	every  time.Duration
	resume bool
}

func (k *checkpointFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&k.file, "checkpoint", "", "save progress to `FILE` regularly, and when a signal ends the run, so that --resume can continue from there")
	c.Flags().DurationVar(&k.every, "checkpoint-every", time.Minute, "`TIME` between checkpoints, such as 30s or 10m")
	c.Flags().BoolVar(&k.resume, "resume", false, "continue from the file of --checkpoint; start from the beginning if there is none")
}

// checkpoint is a run that saves what it has done. nil is one that does not.
type checkpoint struct {
	file                string
	every               time.Duration
	sharding.Checkpoint // its state is nil at the beginning

	stop  atomic.Bool   // a signal asks for the last checkpoint
	saved chan struct{} // closed when it is there
}

// checkpointed is called after a checkpoint, in tests.
var checkpointed func(at int64) error

// running is the checkpoint of the run in progress, for signals.
var running atomic.Pointer[checkpoint]

// sameRows are the flags that change neither the rows nor what is kept of them.
var sameRows = []string{"checkpoint", "checkpoint-every", "resume", "threads", "state", "json", "format", "quiet", "name", "files-from"}

// open reads the file of --checkpoint, if there is one to go on from. reads are the files that are read.
func (k *checkpointFlags) open(c *cobra.Command, f *evalRun, from fs.FS, reads []string) (*checkpoint, error) {
	if k.file == "" {
		for _, name := range []string{"resume", "checkpoint-every"} {
			if c.Flags().Changed(name) {
				return nil, usage("--%s goes with --checkpoint FILE; pass that too, or leave it out", name)
			}
		}
		return nil, nil
	}
	if k.every <= 0 {
		return nil, usage("--checkpoint-every is %v; it is a time above 0, such as 1m", k.every)
	}
	for _, l := range []struct {
		flag string
		set  bool
	}{{"--sequence", len(f.tokens.sequences) > 0}, {"--from " + f.choices.from, f.choices.from != ""}} {
		if l.set {
			return nil, usage("--checkpoint does not go with %s, whose files are read as a whole; leave one of them out", l.flag)
		}
	}
	if once := f.files.once(reads...); once != "" {
		return nil, usage("--checkpoint: %s can be read only once, and a run that goes on reads it again; write it to a file", once)
	}
	if len(reads) == 0 {
		return nil, usage("--checkpoint: no predictions are named; name their files")
	}
	if err := checkFile("--checkpoint", k.file, reads...); err != nil {
		return nil, err
	}
	n := &checkpoint{file: k.file, every: k.every, saved: make(chan struct{})}
	c.Flags().Visit(func(g *pflag.Flag) {
		if !slices.Contains(sameRows, g.Name) {
			n.Flags = append(n.Flags, "--"+g.Name+" "+withoutQueries(g.Value.String()))
		}
	})
	var err error
	if n.Inputs, err = inputsOf(from, reads); err != nil {
		return nil, err
	}
	// What runs that were killed while they wrote have left.
	for _, path := range []string{k.file, f.state} {
		if path != "" {
			_ = temporary.Sweep(linked(path)) // where it is not allowed nothing is lost but room
		}
	}
	b, err := os.ReadFile(k.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return n, nil
	case err != nil:
		return nil, fault(k.file, "check the name and the permissions", "%v", unwrapPath(err))
	case !k.resume:
		return nil, about(usage("--checkpoint %s: the file exists; pass --resume to go on from it, or remove it", k.file), k.file)
	}
	return n, n.read(b)
}

// read sets the checkpoint to what a file has, if that is of the same run.
func (k *checkpoint) read(b []byte) error {
	var was sharding.Checkpoint
	if err := was.UnmarshalBinary(b); err != nil {
		return fault(k.file, "remove it, to begin anew", "not a checkpoint that can be read: %v", strings.TrimPrefix(err.Error(), "checkpoint: "))
	}
	const remedy = "give it what it was begun with, or remove the checkpoint to begin anew"
	for _, l := range []struct {
		what     string
		was, now []string
	}{{"files", was.Inputs, k.Inputs}, {"flags", was.Flags, k.Flags}} {
		for i := range max(len(l.was), len(l.now)) {
			at := func(l []string) string {
				if i < len(l) {
					return l[i]
				}
				return "none"
			}
			if a, b := at(l.was), at(l.now); a != b {
				return about(usage("--resume: the %s differ from those of %s: there %s, and now %s; %s", l.what, k.file, a, b, remedy), k.file)
			}
		}
	}
	k.At, k.State = was.At, was.State
	return nil
}

// from is the number of the first row to read.
func (k *checkpoint) from() int64 {
	if k == nil {
		return 0
	}
	return k.At
}

// save writes what was read so far. After a signal the process ends.
func (k *checkpoint) save(at int64, state io.WriterTo) error {
	var b bytes.Buffer
	if _, err := state.WriteTo(&b); err != nil {
		return err
	}
	k.At, k.State = at, b.Bytes()
	sealed, err := k.AppendBinary(nil)
	if err != nil {
		return err
	}
	k.State = nil
	if err := writeTo(k.file, bytes.NewReader(sealed)); err != nil {
		return err
	}
	if checkpointed != nil {
		return checkpointed(at)
	}
	if k.stop.Load() {
		close(k.saved)
		select {} // until the signal ends the process
	}
	return nil
}

// done removes the file of a run that is done.
func (k *checkpoint) done() error {
	if k == nil {
		return nil
	}
	if err := os.Remove(k.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannotWrite(k.file, err)
	}
	return nil
}

// inputsOf describes files as a checkpoint has them: the name, the size, the time of the last change, and the checksum of both ends. Names of
// columns and arrays are no files.
func inputsOf(from fs.FS, names []string) (l []string, err error) {
	add := func(name string) error {
		sum, size, err := endsOf(from, name)
		if err != nil {
			return err
		}
		fi, err := statOf(from, name)
		if err != nil {
			return fault(name, "check the name and the permissions", "%v", unwrapPath(err))
		}
		l = append(l, fmt.Sprintf("%s of %d bytes, changed %s, %x", name, size, fi.ModTime().UTC().Format(time.RFC3339Nano), sum[:8]))
		return nil
	}
	for _, name := range names {
		fi, err := statOf(from, name)
		if file, _, ok := cutLast(name, ":"); err != nil && ok {
			name = file
			fi, err = statOf(from, name)
		}
		switch {
		case err != nil:
			continue // reported when it is read, if it is a file
		case !fi.IsDir():
			err = add(name)
		default:
			err = filepath.WalkDir(name, func(name string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					err = add(name)
				}
				return err
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return l, nil
}

func statOf(from fs.FS, name string) (fs.FileInfo, error) {
	if from != nil {
		return fs.Stat(from, name)
	}
	return os.Stat(name)
}

// withoutQueries returns a text without what follows a question mark in a URL, which may be a credential.
func withoutQueries(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "://")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + strings.IndexAny(s[i:]+" ", " \t\r\n\"'`,;)>]")
		url := s[:end]
		if q := strings.IndexByte(url[i:], '?'); q >= 0 {
			url = url[:i+q]
		}
		b.WriteString(url)
		s = s[end:]
	}
}

// nextOf is a source of chunks: of rows, of rows of members, or of rows with several labels.
type nextOf[C any] interface{ Next() (*C, error) }

// chunksOf says how chunks are cut.
type chunksOf[C any] struct {
	first   func(*C) int64
	from    func(c *C, row int64) *C // without the rows before one; nil if none is left
	recycle func(*C)
}

var rowChunks = chunksOf[metrics.Chunk]{
	func(c *metrics.Chunk) int64 { return c.First },
	func(c *metrics.Chunk, row int64) *metrics.Chunk {
		i := 0
		for i < c.Rows && c.Number(i) < row {
			i++
		}
		if i == c.Rows {
			return nil
		}
		v := c.Slice(i, c.Rows)
		v.Recycle = c.Recycle
		return &v
	},
	func(c *metrics.Chunk) {
		if c.Recycle != nil {
			c.Recycle()
		}
	},
}

var memberChunks = chunksOf[metrics.MemberChunk]{
	func(c *metrics.MemberChunk) int64 { return c.First },
	func(c *metrics.MemberChunk, row int64) *metrics.MemberChunk {
		n := c.Each[0].Rows
		i := int(min(row-c.First, int64(n)))
		if i == n {
			return nil
		}
		v := *c
		v.First, v.Each = row, slices.Clone(c.Each)
		for m := range v.Each {
			v.Each[m] = c.Each[m].Slice(i, n)
		}
		if v.Labels != nil {
			v.Labels = c.Labels[i:]
		}
		if v.Weights != nil {
			v.Weights = c.Weights[i:]
		}
		return &v
	},
	func(c *metrics.MemberChunk) {
		if c.Recycle != nil {
			c.Recycle()
		}
	},
}

var labelChunks = chunksOf[metrics.LabelChunk]{
	func(c *metrics.LabelChunk) int64 { return c.First },
	func(c *metrics.LabelChunk, row int64) *metrics.LabelChunk {
		i := int(min(row-c.First, int64(c.Rows)))
		if i == c.Rows {
			return nil
		}
		v := *c
		stride := c.LabelStride
		if stride == 0 {
			stride = c.Classes
		}
		v.First, v.Scores, v.Labels = row, c.Scores.Slice(i, c.Rows), c.Labels[i*stride:]
		if v.Weights != nil {
			v.Weights = c.Weights[i:]
		}
		return &v
	},
	func(c *metrics.LabelChunk) {
		if c.Recycle != nil {
			c.Recycle()
		}
	},
}

// pieces is a source that ends when it is time for a checkpoint, and then goes on.
type pieces[C any] struct {
	nextOf[C]
	how   chunksOf[C]
	k     *checkpoint
	began time.Time
	some  bool // a chunk of this piece was given
	held  *C   // the first of the next piece
	ended bool
}

func (p *pieces[C]) Next() (*C, error) {
	c := p.held
	p.held = nil
	for c == nil {
		var err error
		if c, err = p.nextOf.Next(); err != nil {
			p.ended = true
			return nil, err
		}
		if p.how.first(c) < p.k.At { // read by an earlier run
			v := p.how.from(c, p.k.At)
			if v == nil {
				p.how.recycle(c)
			}
			c = v
		}
	}
	if p.some && (p.k.stop.Load() || time.Since(p.began) >= p.k.every) {
		p.held = c
		return nil, io.EOF
	}
	p.some = true
	return c, nil
}

// keepable is an evaluation with a state.
type keepable[E any] interface {
	Merge(E) error
	io.WriterTo
	UnmarshalBinary([]byte) error
}

// inPieces evaluates a source, and saves what it has at every checkpoint. It returns first, or the sum of several evaluations that fresh
// makes. add evaluates a source.
func inPieces[C any, E keepable[E]](k *checkpoint, src nextOf[C], how chunksOf[C], first E, fresh func() (E, error), add func(E, nextOf[C]) error) (E, error) {
	if k == nil {
		return first, add(first, src)
	}
	running.Store(k)
	defer running.Store(nil)
	sum, e := first, first
	var err error
	resumed := k.State != nil
	if resumed {
		if sum, err = fresh(); err != nil {
			return sum, err
		}
		if err := sum.UnmarshalBinary(k.State); err != nil {
			return sum, fault(k.file, "remove it, to begin anew", "not a checkpoint that can be read: %v", err)
		}
		k.State = nil
	}
	p := &pieces[C]{nextOf: src, how: how, k: k}
	for i := 0; ; i++ {
		p.began, p.some = time.Now(), false
		if i > 0 || resumed {
			if e, err = fresh(); err != nil {
				return sum, err
			}
		}
		if err := add(e, p); err != nil {
			return sum, err
		}
		if i > 0 || resumed {
			if err := sum.Merge(e); err != nil {
				return sum, err
			}
		}
		if p.ended {
			return sum, nil
		}
		if err := k.save(how.first(p.held), sum); err != nil {
			return sum, err
		}
	}
}

// anew returns an evaluation as e, without rows.
func anew(e *eval.Evaluation) (*eval.Evaluation, error) {
	n, err := eval.New(e.Spec)
	if err == nil {
		n.Threads, n.ClusterBytes, n.Remedy = e.Threads, e.ClusterBytes, e.Remedy
	}
	return n, err
}

// become sets an evaluation to another, and leaves its settings.
func become(e, sum *eval.Evaluation) {
	if e == sum {
		return
	}
	threads, bytes, remedy := e.Threads, e.ClusterBytes, e.Remedy
	*e = *sum
	e.Threads, e.ClusterBytes, e.Remedy = threads, bytes, remedy
}

// after removes the file of a run whose result was written: also if a gate failed, not if it could not be written.
func (k *checkpoint) after(err error) error {
	if f := (*failure)(nil); errors.As(err, &f) && f.code != exitGate {
		return err
	}
	if gone := k.done(); err == nil {
		return gone
	}
	return err
}
