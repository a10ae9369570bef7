package predictions

// beside holds the columns beside the scores, such as labels and weights. A column that does not exist is nil.
type beside struct {
	labels, observed, weight, decision, confidence *column
	bytes                                          *column
	sequences                                      *sequenceColumn
	groups, clusters                               *groupFiles // nil if there are none
	unlabelled                                     bool        // every label is 0
	width                                          int         // labels per row if they are a matrix; else 0
}

func (s *beside) all() []*column {
	all := []*column{s.labels, s.observed, s.weight, s.decision, s.confidence, s.bytes}
	if s.sequences != nil {
		all = append(all, &s.sequences.column)
	}
	for _, g := range []*groupFiles{s.groups, s.clusters} {
		if g != nil {
			for _, c := range g.each {
				all = append(all, &c.column)
			}
		}
	}
	return all
}

// room allocates the buffer's columns for rows values.
func (s *beside) room(b *buffer, rows int) {
	integers := func(wanted bool, each int) []int32 {
		if !wanted {
			return nil
		}
		return make([]int32, rows*each)
	}
	numbers := func(c *column) []float64 {
		if c == nil {
			return nil
		}
		return make([]float64, rows)
	}
	b.labels, b.decisions = integers(s.labels != nil || s.unlabelled, max(1, s.width)), integers(s.decision != nil, 1)
	b.groups, b.clusters = integers(s.groups != nil, 1), integers(s.clusters != nil, 1)
	b.observed, b.weights, b.confidence, b.bytes = numbers(s.observed), numbers(s.weight), numbers(s.confidence), numbers(s.bytes)
	if s.sequences != nil {
		b.sequences = make([]int64, rows)
	}
}

// fill reads the next n values of each column into the buffer.
func (s *beside) fill(b *buffer, n int) *Error {
	for _, c := range []struct {
		from *column
		to   []int32
		each int
	}{{s.labels, b.labels, max(1, s.width)}, {s.decision, b.decisions, 1}} {
		if c.from == nil {
			continue
		}
		read := c.from.labels
		if c.from == s.labels && s.width == 0 {
			read = c.from.classes
		}
		if e := read(c.to[:n*c.each]); e != nil {
			return e
		}
	}
	for _, c := range []struct {
		from *column
		to   []float64
	}{{s.observed, b.observed}, {s.weight, b.weights}, {s.confidence, b.confidence}, {s.bytes, b.bytes}} {
		if c.from != nil {
			if e := c.from.weights(c.to[:n]); e != nil {
				return e
			}
		}
	}
	if s.sequences != nil {
		if e := s.sequences.read(b.sequences[:n]); e != nil {
			return e
		}
	}
	if s.groups != nil {
		if e := s.groups.fill(b.groups[:n]); e != nil {
			return e
		}
	}
	if s.clusters != nil {
		return s.clusters.fill(b.clusters[:n])
	}
	return nil
}

// release closes everything that is open, including pipes that were never read.
func (s *beside) release() error {
	var first error
	for _, c := range s.all() {
		if c == nil {
			continue
		}
		if err := c.close(); err != nil && first == nil {
			first = err
		}
		closePipes(c.arrays)
	}
	return first
}

// closePipes closes the pipes among arrays. Closing one again has no effect.
func closePipes(as []*array) {
	for _, a := range as {
		if a.closer != nil {
			a.closer.Close()
		}
	}
}
