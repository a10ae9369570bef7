package predictions

import (
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/candor-go/candor/metrics"
)

// made is a source of rows that are put together from rows of files.
type made struct {
	kind   metrics.Kind
	k      int             // scores of a row
	fill   func() *Error   // makes rows; none at the end
	files  []string        // for messages
	keep   bool            // of keys
	closed func()          // closes what is open
	notes  func() []string // on what was left out
	groups *groups
	block  madeBlock
	most   int // rows of a chunk
	read   atomic.Int64

	next  sync.Mutex
	err   error
	mu    sync.Mutex // guards the following
	rows  int64
	place []rowPlace
	keys  []string
}

// rowPlace says where a row begins. line is -1 in formats without lines.
type rowPlace struct {
	file      int32
	row, line int64
}

// madeBlock is what fill makes: all or none of observed and labels have a value for each row.
type madeBlock struct {
	rows     int
	values   []float64
	observed []float64
	labels   []int32
	groups   []int32
	clusters []int32
	places   []rowPlace
	keys     []string
}

// full reports whether there are rows enough for a chunk.
func (m *made) full() bool { return m.block.rows >= m.most }

func (m *made) Next() (*metrics.Chunk, error) {
	m.next.Lock()
	defer m.next.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	m.block = madeBlock{}
	if e := m.fill(); e != nil {
		m.err = e
		return nil, e
	}
	b := &m.block
	m.mu.Lock()
	defer m.mu.Unlock()
	if b.rows == 0 {
		if m.err = io.EOF; m.rows == 0 {
			m.err = noRows().in(m.files[0])
		}
		return nil, m.err
	}
	c := &metrics.Chunk{First: m.rows}
	c.Rows, c.Classes, c.Kind, c.F64 = b.rows, m.k, m.kind, b.values
	c.Observed, c.Labels, c.Groups, c.Clusters = b.observed, b.labels, b.groups, b.clusters
	if b.labels != nil && m.k == 2 {
		c.OfEvent(1)
	}
	m.rows += int64(b.rows)
	m.place = append(m.place, b.places[:max(0, min(b.rows, maxJumps-len(m.place)))]...)
	if m.keep {
		m.keys = append(m.keys, b.keys...)
	}
	return c, nil
}

// group numbers the group of a row.
func (b *madeBlock) group(g *groups, key string) *Error {
	n, e := g.add(key)
	b.groups = append(b.groups, n)
	return e
}

// cluster numbers the cluster of a row.
func (b *madeBlock) cluster(g *groups, name string) *Error {
	n, e := g.addName(name)
	b.clusters = append(b.clusters, n)
	return e
}

func (m *made) BytesRead() int64 { return m.read.Load() }

func (m *made) at(row int64) (rowPlace, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if row < 0 || row >= int64(len(m.place)) {
		return rowPlace{}, false
	}
	return m.place[row], true
}

func (m *made) Locate(row int64) (file string, rowInFile int64) {
	p, ok := m.at(row)
	if !ok {
		return m.files[0], -1
	}
	return m.files[p.file], p.row
}

func (m *made) line(row int64) int64 {
	if p, ok := m.at(row); ok {
		return p.line
	}
	return -1
}

func (m *made) key(row int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if row < 0 || row >= int64(len(m.keys)) {
		return ""
	}
	return m.keys[row]
}

func (m *made) said() []string { return slices.Clone(m.notes()) }

func (m *made) Close() error {
	m.next.Lock()
	defer m.next.Unlock()
	if m.err == nil {
		m.err = os.ErrClosed
	}
	if m.closed != nil {
		m.closed()
		m.closed = nil
	}
	return nil
}
