// Example evaluates files of predictions on Beam, and writes their state:
//
//	go run ./example -prob-prefix p_ -label y -output all.state part-0.parquet part-1.parquet
//	candor merge all.state
//
// Flags of Beam, such as -runner, choose where it runs.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	candorbeam "github.com/candor-go/candor/beam"
	"github.com/candor-go/candor/predictions/roles"
)

var (
	prefix = flag.String("prob-prefix", "p_", "what the names of columns of probabilities begin with")
	label  = flag.String("label", "label", "column of labels")
	output = flag.String("output", "all.state", "where the state goes")
)

func init() { register.DoFn2x1[context.Context, []byte, error](&save{}) }

// save writes a state to Path, which any worker has to be able to write.
type save struct{ Path string }

func (s *save) ProcessElement(ctx context.Context, state []byte) error {
	if _, err := candorbeam.Open(state); err != nil {
		return err
	}
	fs, err := filesystem.New(ctx, s.Path)
	if err != nil {
		return err
	}
	defer fs.Close()
	w, err := fs.OpenWrite(ctx, s.Path)
	if err != nil {
		return err
	}
	if _, err := w.Write(state); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

func main() {
	flag.Parse()
	beam.Init()
	var files []candorbeam.Shard
	for _, path := range flag.Args() {
		files = append(files, candorbeam.Shard{Path: path})
	}
	if len(files) == 0 {
		log.Fatal("no files; name those with predictions")
	}
	p, s := beam.NewPipelineWithRoot()
	options := candorbeam.Options{Columns: roles.Want{Prefix: prefix, Label: *label}}
	state := candorbeam.Shards(s, options, beam.CreateList(s, files))
	beam.ParDo0(s, &save{*output}, state)
	if err := beamx.Run(context.Background(), p); err != nil {
		log.Fatal(err)
	}
}
