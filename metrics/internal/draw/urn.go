package draw

// Urn holds rows of several kinds, from which as many rows as there are can be drawn with replacement. It takes a byte for each kind.
type Urn struct {
	sizes []uint8 // rows of each kind; many for one of heavy
	rows  int64
	heavy []int64 // rows of each kind with more than lightRows rows
	light int     // number of all other rows
}

// lightRows is the number of rows up to which drawing the rows of a kind one by one is faster than drawing their count.
const lightRows = 16

const many = lightRows + 1

// NewUrn returns an urn with this many rows of each kind. It does not keep sizes.
func NewUrn(sizes []int64) *Urn {
	u := &Urn{sizes: make([]uint8, len(sizes))}
	for i, n := range sizes {
		u.sizes[i] = uint8(min(n, many))
		if u.rows += n; n > lightRows {
			u.heavy = append(u.heavy, n)
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
	times []float64
}

// Sample returns room for a sample, in which nothing is drawn yet.
func (u *Urn) Sample() *Sample {
	return &Sample{urn: u, heavy: make([]int64, len(u.heavy)), light: make([]uint8, u.light)}
}

// Draw replaces the sample by a new one, of as many rows as the urn holds.
func (h *Sample) Draw(s *Source) {
	left, of := h.urn.rows, h.urn.rows
	for j, n := range h.urn.heavy {
		h.heavy[j] = s.Binomial(left, float64(n)/float64(of))
		left -= h.heavy[j]
		of -= n
	}
	clear(h.light)
	for n := uint64(h.urn.light); left > 0; left-- {
		h.light[s.Below(n)]++
	}
}

// Times returns how many rows of each kind were drawn, as integers that may be 0. The slice is valid until the next call.
func (h *Sample) Times() []float64 {
	if h.times == nil {
		h.times = make([]float64, len(h.urn.sizes))
	}
	heavy, light := h.heavy, h.light
	for i, n := range h.urn.sizes {
		switch {
		case n == 1:
			h.times[i] = float64(light[0])
			light = light[1:]
		case n == many:
			h.times[i] = float64(heavy[0])
			heavy = heavy[1:]
		default:
			drawn := 0
			for _, m := range light[:n] {
				drawn += int(m)
			}
			h.times[i] = float64(drawn)
			light = light[n:]
		}
	}
	return h.times
}
