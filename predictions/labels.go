package predictions

import (
	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// LabelsReader streams the rows of files with several independent labels. It is a metrics.LabelSource.
type LabelsReader struct{ r *Reader }

var _ metrics.LabelSource = (*LabelsReader)(nil)

// OpenLabels returns a LabelsReader of the rows of all paths. It reads every header and compares shapes, types and lengths, but reads
// no data. Errors are *Error.
//
// Scores are (N, K). Labels are (N, K) of 0 and 1, of any integer type or boolean. With a single label both may be (N,). Options.Kind
// is Probs, Logits or LogProbs; decisions and confidence scores are not allowed. Otherwise files are as in Open.
//
// A chunk of many labels may take up to 8 times Options.BufferBytes for scores, and 4 bytes per label.
func OpenLabels(paths []string, o *Options) (*LabelsReader, error) {
	if o == nil {
		o = &Options{}
	}
	b := newOpening(paths, o)
	b.labels = true
	r, e := b.openLabels()
	if e != nil {
		closePipes(b.opened)
		return nil, e
	}
	return &LabelsReader{r}, nil
}

func (b *opening) openLabels() (*Reader, *Error) {
	switch o := b.options; {
	case o.Kind != metrics.Probs && o.Kind != metrics.Logits && o.Kind != metrics.LogProbs:
		return nil, fault("pass "+setting.ClassKinds.String(), "the scores of several labels cannot be %s", o.Kind)
	case len(o.Decisions)+len(o.ConfidenceScores) > 0:
		return nil, fault("leave "+setting.Decisions.String()+" and "+setting.ConfidenceScores.String()+" out", "several labels have no decisions and confidence scores")
	case len(o.Groups) > 0:
		return nil, fault("leave "+setting.Groups.String()+" out", "rows of several labels are not grouped")
	case o.Cluster != "":
		return nil, fault("leave "+setting.Cluster.String()+" out", "rows of several labels are not clustered")
	case o.NoLabels:
		return nil, fault("", "rows of several labels cannot be evaluated without labels")
	}
	return b.open()
}

// checkMatrix returns an Error if an array cannot be a matrix of labels.
func (b *opening) checkMatrix(a *array, ro role) *Error {
	d, first := a.dtype, b.scores[0]
	switch {
	case !d.integer() && !(d.kind == 'f' && d.size <= 8):
		return badType(a, ro.what, `"int8"`)
	case len(a.shape) < 1 || len(a.shape) > 2 || a.columns() != first.columns():
		return fault("save a 0 or 1 for each label, (N, K) as the scores are", "labels have shape %s, and the scores of %s %s",
			shapeText(a.shape), first.file, shapeText(first.shape))
	}
	return a.checkLength()
}

const (
	leastLabelRows = 1024 // per chunk if there are many labels, since each label takes its rows one after the other
	labelBuffers   = 8    // times Options.BufferBytes: the limit of such a chunk
)

// labelRows is chunkRows for a matrix of labels.
func labelRows(o *Options, row int, most int64) int {
	more := *o
	if more.BufferBytes <= 0 {
		more.BufferBytes = defaultBufferBytes
	}
	more.BufferBytes = max(more.BufferBytes, min(leastLabelRows*row, labelBuffers*more.BufferBytes))
	return chunkRows(&more, row, most)
}

// Info returns what is being read. Classes is the number of labels. It is complete before any data is read.
func (l *LabelsReader) Info() Info { return l.r.info }

// BytesRead returns the number of bytes of scores read so far, out of Info().Bytes. It may be called at any time.
func (l *LabelsReader) BytesRead() int64 { return l.r.BytesRead() }

// Locate returns the file of a row of the whole set, as named in OpenLabels, and the row's number in that file. It returns "", -1 for
// a row that is in no file.
func (l *LabelsReader) Locate(row int64) (file string, rowInFile int64) { return l.r.Locate(row) }

// Next returns the next chunk of rows, or io.EOF after the last. Other errors are *Error, and later calls return the same error. The
// rows of a chunk come from one file.
//
// If Options.Buffers chunks are in use, Next waits until one is recycled.
func (l *LabelsReader) Next() (*metrics.LabelChunk, error) {
	c, b, err := l.r.next()
	if err != nil {
		return nil, err
	}
	return &metrics.LabelChunk{Scores: c.Scores, Kind: c.Kind, Labels: head(b.labels, c.Rows*c.Classes), Weights: c.Weights,
		First: c.First, Recycle: c.Recycle}, nil
}

// Close closes the files. Chunks in use stay valid. Close waits for a Next that is reading; a Next that waits for a chunk returns
// os.ErrClosed. Closing again has no effect.
func (l *LabelsReader) Close() error { return l.r.Close() }
