package predictions

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/keyjoin"
)

// oracle has what was observed, by keys.
type oracle struct {
	keys   []string // columns that make a key, in this order
	value  string   // the column of what was observed
	output string   // of the Hubverse, whose oracle may have rows for several
	target string
	ids    func(text []byte) (int, bool) // of a pmf or cdf, the place of an id among the classes or thresholds
	counts int                           // of these
	names  []string                      // files

	index *keyjoin.Index[observation]
	empty int64 // rows without a value
}

// observation is what was observed: a value, or of a pmf or cdf as many as there are ids, of which the class follows.
type observation struct {
	value      float64
	n          int32
	ones       int32
	zero, hold int32 // the last id with 0, the first with 1
}

func appendJoin(key, text []byte) []byte { return keyjoin.Append(key, text) }

// readOracle reads the files of an oracle.
func readOracle(o *ModelOptions, w *oracle) (*oracle, *Error) {
	w.index = keyjoin.NewIndex[observation](o.Memory/4, 24)
	files, _, e := sortedFiles(nil, o.Oracle)
	if e != nil {
		return nil, e.in(names(o.Names).of(e.File))
	}
	for _, path := range files {
		if e := w.read(path, o); e != nil {
			return nil, e
		}
	}
	return w, nil
}

// read reads a file.
func (w *oracle) read(path string, o *ModelOptions) *Error {
	in, e := openCells(path, o.Names, nil)
	if e != nil {
		return e
	}
	defer in.close()
	w.names = append(w.names, in.name)
	l := &layout{names: in.columns}
	var want []int
	take := func(name string, must bool) (int, *Error) {
		if !must && !slices.Contains(in.columns, name) {
			return -1, nil
		}
		i, e := l.column(name, "oracle")
		if e != nil {
			return -1, e.in(in.name)
		}
		want = append(want, i)
		return len(want) - 1, nil
	}
	for _, name := range w.keys {
		if _, e := take(name, true); e != nil {
			return e
		}
	}
	value, e := take(w.value, true)
	if e != nil {
		return e
	}
	output, id, target := -1, -1, -1
	if w.output != "" {
		if output, e = take("output_type", w.ids != nil); e != nil {
			return e
		}
		if w.ids != nil {
			if id, e = take("output_type_id", true); e != nil {
				return e
			}
		}
	}
	if w.target != "" {
		if target, e = take("target", false); e != nil {
			return e
		}
	}
	if e := in.read(want, value); e != nil {
		return e
	}
	var key []byte
	for {
		ok, e := in.next()
		if e != nil {
			return e
		}
		if !ok {
			return nil
		}
		if output >= 0 {
			if text, _ := in.of(output); string(text) != w.output {
				continue
			}
		}
		if target >= 0 {
			if text, _ := in.of(target); string(text) != w.target {
				continue
			}
		}
		key = key[:0]
		for i := range w.keys {
			text, _ := in.of(i)
			key = appendJoin(key, text)
		}
		v, ok := in.number(value)
		switch {
		case !ok:
			text, _ := in.of(value)
			return in.placed(badNumber(w.value, text))
		case math.IsNaN(v):
			w.empty++
			continue
		}
		old, met := w.index.Get(key)
		if id >= 0 {
			text, _ := in.of(id)
			at, known := w.ids(text)
			if !known {
				continue
			}
			if e := old.add(at, v, met); e != nil {
				return in.placed(w.wrong(e, string(key), string(text)))
			}
		} else if met {
			return in.placed(fault("leave one of them out", "%s was observed twice: %v and %v", keyjoin.Describe(w.keys, string(key)), old.value, v))
		} else {
			old.value = v
		}
		if err := w.index.Set(key, old); errors.Is(err, keyjoin.ErrMemory) {
			return fault("allow more by "+setting.ModelMemory.String(), "what was observed takes more than %d MiB", o.Memory>>22).in(in.name)
		}
	}
}

// add counts what was observed of an id: 1 for the class of a pmf, and for the thresholds of a cdf that are not below what was observed.
func (s *observation) add(at int, v float64, met bool) *Error {
	if !met {
		s.zero, s.hold = -1, math.MaxInt32
	}
	switch v {
	case 0:
		s.zero = max(s.zero, int32(at))
	case 1:
		s.hold = min(s.hold, int32(at))
		s.ones++
	default:
		return fault("of a pmf and a cdf it is 0 or 1", "the observed value is %v", v)
	}
	s.n++
	return nil
}

func (w *oracle) wrong(e *Error, key, id string) *Error {
	e.Reason = fmt.Sprintf("%s, %s %s: %s", keyjoin.Describe(w.keys, key), w.output, id, e.Reason)
	return e
}

func (w *oracle) get(key []byte) (observation, bool) { return w.index.Get(key) }

// class returns the class of an observation: of a pmf the id with 1, of a cdf the number of thresholds with 0.
func (w *oracle) class(s observation, key string) (int32, *Error) {
	what := fmt.Sprintf("%s of %s", w.output, keyjoin.Describe(w.keys, key))
	switch {
	case int(s.n) != w.counts:
		return 0, fault("each id of the forecasts has one", "the oracle has %d values of %d ids for the %s", s.n, w.counts, what).in(w.names[0])
	case w.output == OutputPMF && s.ones != 1:
		return 0, fault("the class that was observed has 1, and the others 0", "the oracle has %d ones for the %s", s.ones, what).in(w.names[0])
	case w.output == OutputCDF && s.zero > s.hold:
		return 0, fault("thresholds from what was observed on have 1, those below have 0", "the oracle falls from 1 to 0 for the %s", what).in(w.names[0])
	case w.output == OutputPMF:
		return s.hold, nil
	}
	return s.n - s.ones, nil
}

// unmatched explains a forecast of which nothing was observed.
func (w *oracle) unmatched(columns []string, key string) *Error {
	return fault("leave such forecasts out by "+setting.DropUnmatched.String(), "no observed value for %s in %s", keyjoin.Describe(columns, key), strings.Join(w.names, ", "))
}

// notes counts what was left out.
func (w *oracle) notes(columns []string, left int64, first string) (l []string) {
	if left > 0 {
		l = append(l, fmt.Sprintf("%s forecasts were left out, as nothing was observed of them; the first is %s", thousands(int(left)), keyjoin.Describe(columns, first)))
	}
	return l
}
