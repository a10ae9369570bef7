package predictions

import (
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
)

// observedPrefix begins the names of columns of what was observed, if no other prefix is given.
const observedPrefix = "obs_"

// vectors finds the columns of Multivariate among the unused ones: those of each member, one member after another, and then the observed ones. A
// column obs_NAME is observed, and NAME_K, with a whole number K, is what member K says of it. dimensions is the number of names.
func (l *layout) vectors(o *ForecastOptions, taken map[int]bool) (columns []int, dimensions int, e *Error) {
	prefix := o.Observed
	if prefix == "" {
		prefix = observedPrefix
	}
	var observed []int
	var of []string // the names
	for i, name := range l.names {
		if what, ok := strings.CutPrefix(name, prefix); ok && what != "" && !taken[i] {
			if slices.Contains(of, what) {
				return nil, 0, l.twice(name)
			}
			observed, of = append(observed, i), append(of, what)
		}
	}
	if observed == nil {
		return nil, 0, fault("name columns of what was observed like "+observedPrefix+"wind, or their prefix by "+setting.Observed.String()+", and those of members like wind_1, wind_2",
			"no column is named %q or like it: %s", cut(prefix)+"wind", l.list())
	}
	members := make([]map[int]int, len(of)) // columns by the members' numbers
	var numbers []int
	for d, what := range of {
		members[d] = map[int]int{}
		for i, name := range l.names {
			k, ok := memberNumber(name, what)
			if !ok || taken[i] || slices.Contains(observed, i) {
				continue
			}
			if at, twice := members[d][k]; twice {
				if l.names[at] == name {
					return nil, 0, l.twice(name)
				}
				return nil, 0, fault("leave one of them out", "columns %q and %q are both of member %d", cut(l.names[at]), cut(name), k)
			}
			members[d][k] = i
			if !slices.Contains(numbers, k) {
				numbers = append(numbers, k)
			}
		}
	}
	slices.Sort(numbers)
	if numbers == nil {
		return nil, 0, fault("name the columns of members like "+of[0]+"_1, "+of[0]+"_2", "no column has members of %q: %s", cut(of[0]), l.list())
	}
	for _, k := range numbers {
		for d, what := range of {
			i, ok := members[d][k]
			if !ok {
				return nil, 0, fault("each member has a number for each of "+strings.Join(of[:min(len(of), 5)], ", "), "member %d has no column %q", k, cut(what)+"_"+strconv.Itoa(k))
			}
			columns = append(columns, i)
		}
	}
	return append(columns, observed...), len(of), nil
}

// memberNumber returns the number of the member whose forecast of a quantity a column has.
func memberNumber(name, what string) (int, bool) {
	s, ok := strings.CutPrefix(name, what+"_")
	if !ok || s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	k, err := strconv.Atoi(s)
	return k, err == nil
}
