package draw

// Urn holds rows of several kinds, from which as many rows as there are can be drawn with replacement.
type Urn struct {
	sizes []int64 // rows of each kind
	rows  int64
	heavy []int // kinds with more than lightRows rows
	light int   // number of all other rows
}

// lightRows is the number of rows up to which drawing the rows of a kind one by one is faster than drawing their count.
const lightRows = 16

// NewUrn returns an urn with this many rows of each kind.
func NewUrn(sizes []int64) *Urn {
	u := &Urn{sizes: sizes}
	for i, n := range sizes {
		if u.rows += n; n > lightRows {
			u.heavy = append(u.heavy, i)
		} else {
			u.light += int(n)
		}
	}
	return u
}

// Rows returns the number of rows.
func (u *Urn) Rows() int64 { return u.rows }

// Sample holds the rows drawn from an Urn.
type Sample struct {
	urn   *Urn
	heavy []int64 // count for each heavy kind
	light []uint8 // count for each light row, kind by kind. No row is drawn 256 times: the chance is below 1/256!.
}

// Sample returns room for a sample, in which nothing is drawn yet.
func (u *Urn) Sample() *Sample {
	return &Sample{u, make([]int64, len(u.heavy)), make([]uint8, u.light)}
}

// Draw replaces the sample by a new one, of as many rows as the urn holds.
func (h *Sample) Draw(s *Source) {
	left, of := h.urn.rows, h.urn.rows
	for j, i := range h.urn.heavy {
		n := h.urn.sizes[i]
		h.heavy[j] = s.Binomial(left, float64(n)/float64(of))
		left -= h.heavy[j]
		of -= n
	}
	clear(h.light)
	for n := uint64(h.urn.light); left > 0; left-- {
		h.light[s.Below(n)]++
	}
}

// Each calls f for every kind, in order, with the number of its rows that were drawn, which may be 0.
func (h *Sample) Each(f func(kind int, times int64)) {
	heavy, light := h.heavy, h.light
	for i, n := range h.urn.sizes {
		times := int64(0)
		if n > lightRows {
			times, heavy = heavy[0], heavy[1:]
		} else {
			for _, m := range light[:n] {
				times += int64(m)
			}
			light = light[n:]
		}
		f(i, times)
	}
}
