package recal

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse returns the method of a string such as "temperature" or "histogram(bins=10,equal_mass)".
func Parse(s string) (Method, error) {
	name, rest, open := strings.Cut(strings.TrimSpace(s), "(")
	name = strings.TrimSpace(name)
	var m Method
	for _, o := range methods {
		if o.Name == name {
			m = o.zero
		}
	}
	if m == nil {
		return nil, fmt.Errorf("there is no method %q; there are %s", name, strings.Join(Names(), ", "))
	}
	if !open {
		return m, nil
	}
	inner, ok := strings.CutSuffix(strings.TrimSpace(rest), ")")
	if !ok || strings.ContainsAny(inner, "()") {
		return nil, fmt.Errorf("%q: it is NAME or NAME(OPTION=VALUE,...)", s)
	}
	given := map[string]bool{}
	if strings.TrimSpace(inner) == "" {
		return m, nil
	}
	for _, a := range strings.Split(inner, ",") {
		n, v, equals := strings.Cut(a, "=")
		n, v = strings.TrimSpace(n), strings.TrimSpace(v)
		if n == "" || equals && v == "" {
			return nil, fmt.Errorf("%q: it is NAME or NAME(OPTION=VALUE,...)", s)
		}
		if given[n] {
			return nil, fmt.Errorf("method %s: option %s is given twice", name, n)
		}
		given[n] = true
		var err error
		if m, err = m.with(n, v); err != nil {
			return nil, fmt.Errorf("method %s: %w", name, err)
		}
	}
	return m, nil
}

// spelled returns a name followed by the nonempty options.
func spelled(name string, options ...string) string {
	var l []string
	for _, o := range options {
		if o != "" {
			l = append(l, o)
		}
	}
	if l == nil {
		return name
	}
	return name + "(" + strings.Join(l, ",") + ")"
}

// word returns the name of an option if it is on, else "".
func word(name string, on bool) string {
	if on {
		return name
	}
	return ""
}

// value returns the name and value of an option, or "" for the default.
func value(name string, v, def float64) string {
	if v == def {
		return ""
	}
	return name + "=" + strconv.FormatFloat(v, 'g', -1, 64)
}

// readWord parses a switch: NAME, NAME=true or NAME=false.
func readWord(name, v string) (bool, error) {
	switch v {
	case "", "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is %q; it is true or false", name, v)
}

// readNumber parses a number from low to high.
func readNumber(name, v string, low, high float64) (float64, error) {
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || !(x >= low && x <= high) {
		return 0, fmt.Errorf("%s is %q; it is a number from %v to %v", name, v, low, high)
	}
	return x, nil
}

// readWhole parses an integer from low to high.
func readWhole(name, v string, low, high int) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s is %q; it is a whole number from %d to %d", name, v, low, high)
	}
	return n, nil
}

// noOption returns the error for an option that the method does not have.
func noOption(name string, known ...string) error {
	if known == nil {
		return fmt.Errorf("there is no option %q; it takes none", name)
	}
	return fmt.Errorf("there is no option %q; there are %s", name, strings.Join(known, ", "))
}

// readChoice parses one of several names; its index is the value.
func readChoice[T ~uint8](name, v string, names []string) (T, error) {
	for i, n := range names {
		if n == v {
			return T(i), nil
		}
	}
	return 0, fmt.Errorf("%s is %q; it is one of %s", name, v, strings.Join(names, ", "))
}
