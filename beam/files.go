package candorbeam

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
)

type reader interface {
	metrics.Source
	io.Closer
	Info() predictions.Info
}

// open opens a file and returns the names of its classes, nil if it has none.
func (o *Options) open(ctx context.Context, s Shard) (reader, []string, error) {
	if predictions.IsTable(s.Path) || predictions.HasColumns(s.Path) {
		t := &predictions.TableOptions{Kind: o.Kind, Columns: o.Columns, Event: o.Event, Classification: o.Classification, FS: files{ctx}}
		r, err := predictions.OpenTable([]string{s.Path}, t)
		if err != nil {
			return nil, nil, err
		}
		return r, r.ClassNames(), nil
	}
	a := &predictions.Options{Kind: o.Kind, Event: o.event(), FS: files{ctx}}
	if s.Labels != "" {
		a.Labels = []string{s.Labels}
	}
	if s.Weights != "" {
		a.Weights = []string{s.Weights}
	}
	r, err := predictions.Open([]string{s.Path}, a)
	return r, nil, err
}

// files opens names as the operating system does, and those with a scheme as Beam does.
type files struct{ ctx context.Context }

func (f files) Open(name string) (fs.File, error) {
	if !strings.Contains(name, "://") {
		return os.Open(name)
	}
	system, err := filesystem.New(f.ctx, name)
	if err != nil {
		return nil, err
	}
	size, err := system.Size(f.ctx, name)
	if err != nil {
		system.Close()
		return nil, err
	}
	r, err := system.OpenRead(f.ctx, name)
	if err != nil {
		system.Close()
		return nil, err
	}
	return &remote{r, system, name, size}, nil
}

// remote is a file that is read once, from its start.
type remote struct {
	io.ReadCloser
	system filesystem.Interface
	name   string
	size   int64
}

func (r *remote) Close() error {
	err := r.ReadCloser.Close()
	if e := r.system.Close(); err == nil {
		err = e
	}
	return err
}

func (r *remote) Stat() (fs.FileInfo, error) { return r, nil }
func (r *remote) Name() string               { return path.Base(r.name) }
func (r *remote) Size() int64                { return r.size }
func (r *remote) Mode() fs.FileMode          { return 0o400 }
func (r *remote) ModTime() time.Time         { return time.Time{} }
func (r *remote) IsDir() bool                { return false }
func (r *remote) Sys() any                   { return nil }
