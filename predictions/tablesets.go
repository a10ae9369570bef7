package predictions

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// LabelTable streams the rows of tables with several independent labels. It is a metrics.LabelSource.
type LabelTable struct{ *ForecastReader }

var _ metrics.LabelSource = (*LabelTable)(nil)

// OpenLabelTable returns a LabelTable of the rows of all paths, which are shards in natural order. TableOptions.Columns.Tags says where the
// labels are. Otherwise tables are as in OpenTable; they have no decisions and no confidence scores. Groups are
// those of the first table. Errors are *Error.
func OpenLabelTable(paths []string, o *TableOptions) (*LabelTable, error) {
	w := &o.Columns
	switch {
	case !w.Tags:
		return nil, fault("name their columns by "+setting.LabelPrefix.String(), "no labels are named")
	case w.Decision != "" || w.Confidence != "":
		return nil, fault("leave "+setting.Decisions.String()+" and "+setting.ConfidenceScores.String()+" out", "several labels have no decisions and confidence scores")
	case len(w.Groups) > 0:
		return nil, fault("leave "+setting.Groups.String()+" out", "rows of several labels are not grouped")
	case w.Cluster != "":
		return nil, fault("leave "+setting.Cluster.String()+" out", "rows of several labels are not clustered")
	case o.Truth != nil || o.Rows != AllRows || w.Correct != "" || w.Members != nil:
		return nil, fault("write them into the table of the scores", "several labels are columns of the table that has the scores")
	}
	r, err := OpenTable(paths, o)
	if err != nil {
		return nil, err
	}
	return &LabelTable{r}, nil
}

// Next returns the next chunk of rows, or io.EOF after the last. Other errors are *Error, and later calls return the same error.
func (t *LabelTable) Next() (*metrics.LabelChunk, error) {
	c, err := t.ForecastReader.Next()
	if err != nil {
		return nil, err
	}
	return &metrics.LabelChunk{Scores: c.Scores, Kind: c.Kind, Labels: c.Labels, Weights: c.Weights, First: c.First, Recycle: c.Recycle}, nil
}

// MemberTable streams the rows of an ensemble whose members' scores are in tables. It is a metrics.MemberSource.
type MemberTable struct {
	*ForecastReader // of all members, or of the first
	names           []string
	each            []*aligned // the tables of one member each; nil if one has all
	unlabelled      bool       // only the first has labels
	info            Info
}

var _ metrics.MemberSource = (*MemberTable)(nil)

// OpenMemberTable returns a MemberTable. If TableOptions.Columns.Members names the columns of the members, paths are shards in natural order.
// Otherwise each path is a member, in natural order, and the tables have the same rows in the same order: labels and weights are compared.
// Otherwise tables are as in OpenTable; they have no decisions, confidence scores or groups. Errors are *Error.
func OpenMemberTable(paths []string, o *TableOptions) (*MemberTable, error) {
	w := &o.Columns
	switch {
	case w.Decision != "" || w.Confidence != "":
		return nil, fault("leave "+setting.Decisions.String()+" and "+setting.ConfidenceScores.String()+" out", "an ensemble has no decisions and confidence scores")
	case w.Cluster != "":
		return nil, fault("leave "+setting.Cluster.String()+" out", "the rows of an ensemble are not clustered")
	case w.Correct != "" || w.Tags || o.Rows != AllRows:
		return nil, fault("name a column of labels by "+setting.LabelColumn.String(), "the rows of an ensemble have one label each")
	}
	if w.Members != nil {
		r, err := OpenTable(paths, o)
		if err != nil {
			return nil, err
		}
		return &MemberTable{ForecastReader: r, names: w.Members, info: r.info}, nil
	}
	if len(paths) < 2 {
		return nil, fault("name a table for each member, or the prefixes of the columns of members in one table", "one table with the scores of one model is not an ensemble")
	}
	if o.Share.some() {
		return nil, fault("write the members' scores as columns of one table, or as .npy", "the tables of members are not read by shares, since their parts may have other rows each")
	}
	t := &MemberTable{}
	own := *o
	own.Share = Share{}
	for i, j := range naturalOrder(paths) {
		r, err := OpenTable(paths[j:j+1], &own)
		if err != nil {
			t.Close()
			return nil, err
		}
		if i == 0 {
			t.ForecastReader, t.info, own.Columns.Groups = r, r.info, nil
			if o.Truth != nil {
				t.unlabelled, own.Truth, own.Unlabelled = true, nil, true
			}
		}
		name := names(o.Names).of(paths[j])
		t.each, t.names = append(t.each, &aligned{r: r, name: name}), append(t.names, name)
		if i > 0 {
			if a, b := t.info, r.info; a.Classes != b.Classes || a.DType != b.DType || a.Weighted != b.Weighted {
				t.Close()
				return nil, fault(membersAgree, "%d scores of type %s, and %s has %d of type %s", max(b.Classes, 1), b.DType, t.names[0], max(a.Classes, 1), a.DType).in(name)
			}
		}
	}
	t.info.Members, t.info.Files = len(paths), len(paths)
	return t, nil
}

// Info returns what is being read.
func (t *MemberTable) Info() Info { return t.info }

// File returns the file of a member, or what its columns are named by.
func (t *MemberTable) File(member int) string { return t.names[member] }

// Close closes the files. Chunks in use stay valid. Closing again has no effect.
func (t *MemberTable) Close() error {
	for _, a := range t.each {
		a.r.Close()
	}
	if t.ForecastReader == nil {
		return nil
	}
	return t.ForecastReader.Close()
}

// Next returns the next chunk of rows, or io.EOF after the last. Other errors are *Error, and later calls return the same error.
func (t *MemberTable) Next() (*metrics.MemberChunk, error) {
	if t.each != nil {
		return t.together()
	}
	c, err := t.ForecastReader.Next()
	if err != nil {
		return nil, err
	}
	m := &metrics.MemberChunk{First: c.First, Recycle: c.Recycle}
	m.Kind, m.Labels, m.Weights, m.Groups = c.Kind, c.Labels, c.Weights, c.Groups
	k := c.Classes / t.info.Members
	for i := range t.info.Members {
		m.Each = append(m.Each, memberOf(&c.Scores, i*k, k))
	}
	if !t.info.Pairs {
		return m, nil
	}
	class, kind := t.info.Event, c.Kind
	for i := range m.Each {
		m.Each[i].OfEvent(kind, class)
	}
	if kind == metrics.LogProbs {
		m.Kind = metrics.Logits
	}
	if class == 0 {
		metrics.TurnLabels(m.Labels)
	}
	return m, nil
}

// memberOf returns k columns of scores, from column at on.
func memberOf(s *metrics.Scores, at, k int) metrics.Scores {
	p := metrics.Scores{Rows: s.Rows, Classes: k, Stride: s.Classes}
	last := (s.Rows-1)*s.Classes + at + k
	switch {
	case s.F64 != nil:
		p.F64 = s.F64[at:last]
	case s.F32 != nil:
		p.F32 = s.F32[at:last]
	default:
		p.F16 = s.F16[at:last]
	}
	return p
}

// aligned is a member's table.
type aligned struct {
	r    *ForecastReader
	name string
	c    *sharedChunk // of which at rows were taken; nil at the end of one
	at   int
}

// sharedChunk is a chunk of which several parts are in use.
type sharedChunk struct {
	*metrics.Chunk
	users atomic.Int32
}

func (c *sharedChunk) release() {
	if c.users.Add(-1) == 0 && c.Recycle != nil {
		c.Recycle()
	}
}

// together returns the rows that all tables have in one chunk.
func (t *MemberTable) together() (*metrics.MemberChunk, error) {
	rows, over := 0, 0
	for _, a := range t.each {
		if a.c == nil {
			c, err := a.r.Next()
			if err == io.EOF {
				over++
				continue
			} else if err != nil {
				return nil, err
			}
			a.c, a.at = &sharedChunk{Chunk: c}, 0
			a.c.users.Store(1)
		}
		if left := a.c.Rows - a.at; rows == 0 || left < rows {
			rows = left
		}
	}
	if over == len(t.each) {
		return nil, io.EOF
	}
	first := t.each[0]
	for _, a := range t.each {
		if (a.c == nil) != (first.c == nil) {
			return nil, fault(membersAgree, "its rows are not as many as those of %s", first.name).in(a.name)
		}
	}
	if over > 0 {
		panic("predictions: some tables of members have rows")
	}
	m := &metrics.MemberChunk{First: first.c.First + int64(first.at)}
	var used []*sharedChunk
	for i, a := range t.each {
		p := a.c.Predictions.Slice(a.at, a.at+rows)
		if i == 0 {
			m.Kind, m.Labels, m.Weights = p.Kind, p.Labels, p.Weights
			if a.c.Groups != nil {
				m.Groups = a.c.Groups[a.at : a.at+rows]
			}
		} else if e := t.unlike(a, &p, m); e != nil {
			return nil, e
		}
		m.Each, used = append(m.Each, p.Scores), append(used, a.c)
		a.c.users.Add(1)
		if a.at += rows; a.at == a.c.Rows {
			a.c.release()
			a.c = nil
		}
	}
	var once sync.Once
	m.Recycle = func() {
		once.Do(func() {
			for _, c := range used {
				c.release()
			}
		})
	}
	return m, nil
}

// unlike returns an Error if a member's rows have other labels or weights than those of the first, m.
func (t *MemberTable) unlike(a *aligned, p *metrics.Predictions, m *metrics.MemberChunk) error {
	for i, y := range p.Labels {
		what := ""
		switch {
		case !t.unlabelled && y != m.Labels[i]:
			what = fmt.Sprintf("the label is %d, and in %s %d", y, t.names[0], m.Labels[i])
		case p.Weights != nil && p.Weights[i] != m.Weights[i] && (p.Weights[i] == p.Weights[i] || m.Weights[i] == m.Weights[i]):
			what = fmt.Sprintf("the weight is %v, and in %s %v", p.Weights[i], t.names[0], m.Weights[i])
		default:
			continue
		}
		e := fault("the tables of members have the same rows in the same order", "%s", what)
		e.Row = m.First + int64(i)
		return e.in(a.name)
	}
	return nil
}
