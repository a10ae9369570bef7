package predictions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// survival opens predictions of survival: a matrix (N, H) of probabilities, or a vector, and vectors of times and events, in files or in each .npz.
func (b *opening) survival() (*vectorReader, *Error) {
	o := b.forecast
	b.scoring = risksRole
	var times, events, weights []*array
	for _, path := range b.paths {
		c, e := b.container(path)
		if e != nil {
			return nil, e
		}
		defer c.close()
		a, e := c.take(risksRole)
		if e != nil {
			return nil, e
		}
		b.scores, b.opened = append(b.scores, a), append(b.opened, a)
		if !c.npz {
			continue
		}
		if c, e = c.whole(); e != nil {
			return nil, e
		}
		find := func(ro role, name string) (found *array) {
			if name != "" {
				ro.names = []string{name}
			}
			if e == nil {
				found, e = c.find(ro)
			}
			return found
		}
		own := [3]*array{find(timesRole, array0(o.Time)), find(eventsRole, array0(o.Event)), find(weightsRole, "")}
		if e != nil {
			return nil, e
		}
		for j, ro := range []role{timesRole, eventsRole} {
			if name := []string{o.Time, o.Event}[j]; own[j] == nil && (name == "" || array0(name) == name) {
				return nil, c.without(ro, name)
			}
		}
		times, events, weights = append(times, own[0]), append(events, own[1]), append(weights, own[2])
		if e := b.findGroups(c); e != nil {
			return nil, e
		}
	}
	if len(o.Weights) > 0 {
		weights = nil
	}
	r := &vectorReader{kind: metrics.Survival, pool: pool{done: make(chan struct{})}}
	for _, a := range b.scores {
		if e := checkRisks(a, len(o.Levels)); e != nil {
			return nil, e.in(a.file)
		}
	}
	r.wide = len(o.Levels)
	order := make([]int, r.wide)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(o.Levels[i], o.Levels[j]) })
	r.places = make([]int, r.wide)
	for place, i := range order {
		r.places[i] = place
	}
	r.parts = []*column{{arrays: b.scores, what: "probability"}}
	for _, p := range []struct {
		role
		name, flag string
		own        []*array
	}{{timesRole, o.Time, setting.Time.String(), times}, {eventsRole, o.Event, setting.HappenedAt.String(), events}} {
		var files []string
		if p.name != "" && array0(p.name) == "" {
			files = []string{p.name}
		}
		a, e := b.column(p.role, files, p.own)
		if e != nil {
			return nil, e
		}
		if a == nil {
			return nil, fault(fmt.Sprintf("name their file as %s %s.npy", p.flag, strings.TrimSuffix(p.what, "s")), "no %s", p.what).in(b.scores[0].file)
		}
		r.parts = append(r.parts, &column{arrays: a, what: strings.TrimSuffix(p.what, "s")})
	}
	w, e := b.column(weightsRole, o.Weights, weights)
	if e != nil {
		return nil, e
	}
	if w != nil {
		r.beside.weight = &column{arrays: w, what: "weight"}
	}
	return r, r.describe(b)
}

// array0 returns the name of an array of each .npz, or "" if the name is that of a file.
func array0(name string) string {
	if l := strings.ToLower(name); strings.HasSuffix(l, ".npy") || strings.Contains(l, ".npz") || strings.Contains(l, "/") {
		return ""
	}
	return name
}

// checkRisks returns an Error if an array cannot be the probabilities of so many times.
func checkRisks(a *array, times int) *Error {
	if a.dtype.kind != 'f' || a.dtype.size > 8 {
		if a.dtype.integer() {
			return fault("probabilities are floating-point numbers", "probabilities of the event are %s", a.dtype)
		}
		return badType(a, "probabilities of the event", `"float64"`)
	}
	if len(a.shape) != 1 && len(a.shape) != 2 {
		return fault("they are a vector (N,) or a matrix (N, H) of H times", "probabilities of the event have %d axes, shape %s", len(a.shape), shapeText(a.shape))
	}
	if k := int(a.columns()); k != times {
		return fault("name a time for each column by "+setting.Horizons.String(), "%d times for %d columns, shape %s", times, k, shapeText(a.shape))
	}
	return a.checkLength()
}
