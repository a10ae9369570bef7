package ci

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
)

// writeMLflow writes one JSON object from names to numbers, which mlflow.log_metrics takes. Metrics of all rows come with the ends of
// their intervals, and so do differences of two sets; those of parts come without. What has no value is left out; infinities are the largest numbers, as MLflow stores them.
func writeMLflow(w io.Writer, r *Result) error {
	var b strings.Builder
	seen := map[string]bool{}
	add := func(name string, v float64) error {
		if math.IsNaN(v) {
			return nil
		}
		if math.IsInf(v, 0) {
			v = math.Copysign(math.MaxFloat64, v)
		}
		if seen[name] {
			return fmt.Errorf("ci: two metrics of MLflow have the name %q", name)
		}
		seen[name] = true
		number, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if b.Len() > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "  %q: %s", name, number) // of plain characters
		return nil
	}
	for i := range r.Sets {
		set := &r.Sets[i]
		before := ""
		if set.Name != "" {
			before = mlflowName(set.Name) + "/"
		}
		if err := add(before+"rows", float64(set.Rows)); err != nil {
			return err
		}
		for k := range set.Metrics {
			m := &set.Metrics[k]
			name := before + mlflowKey(m.Key)
			if err := add(name, m.Value.Value); err != nil {
				return err
			}
			of := ends(m)
			for _, end := range []string{"low", "high"} {
				if v, ok := of[end]; ok {
					if err := add(name+"."+end, v); err != nil {
						return err
					}
				}
			}
		}
		if set.Parts == nil {
			continue
		}
		for p := range set.Parts {
			part := before + mlflowPart(p.Of) + "/"
			for k := range p.Metrics {
				if err := add(part+mlflowKey(p.Metrics[k].Key), p.Metrics[k].Value.Value); err != nil {
					return err
				}
			}
		}
	}
	for i := range r.Deltas {
		d := &r.Deltas[i]
		name := "delta." + mlflowKey(d.Key)
		if !d.Only {
			name = mlflowPair(d.A, d.B) + "/" + name
		}
		if err := add(name, d.Value.Value); err != nil {
			return err
		}
		of := ends(&d.Metric)
		for _, end := range []string{"low", "high"} {
			if v, ok := of[end]; ok {
				if err := add(name+"."+end, v); err != nil {
					return err
				}
			}
		}
	}
	_, err := io.WriteString(w, "{\n"+b.String()+"\n}\n")
	return err
}

// mlflowKey returns a metric's key in characters that MLflow takes: ece(bins=30,norm=l2) is ece.bins.30.norm.l2.
func mlflowKey(key string) string {
	return plainName(strings.NewReplacer("(", ".", ",", ".", "=", ".", ")", "").Replace(key), key, 80)
}

// mlflowName returns the name of a set in characters that MLflow takes.
func mlflowName(name string) string { return plainName(name, name, 60) }

// mlflowPart returns the name of a part: site-north, or site-north year-2024 with two columns.
func mlflowPart(of []Label) string {
	var names []string
	parted := true // by spaces alone
	for _, l := range of {
		names = append(names, l.Name+"-"+l.Value)
		parted = parted && (len(of) == 1 || !strings.Contains(l.Name+l.Value, " "))
	}
	name := strings.Join(names, " ")
	if !parted {
		return hashed(name, fmt.Sprintf("%q", names), 60)
	}
	return plainName(name, name, 60)
}

// mlflowPair returns the name of a pair: new - old.
func mlflowPair(a, b string) string {
	const between = " - "
	name := b + between + a
	if strings.Contains(b, between) || strings.Contains(a, between) || strings.HasSuffix(b, " -") || strings.HasPrefix(a, "- ") { // where one ends would not show
		return hashed(name, fmt.Sprintf("%q", []string{b, a}), 60)
	}
	return plainName(name, name, 60)
}

// plainName returns the name if MLflow takes it and it has no more than the given number of characters, else what is left of it with a
// hash of from. So other names stay others, and a name is the same in every run.
func plainName(name, from string, most int) string {
	if plain := plainOf(name); plain == name && len(name) <= most && name != "" {
		return name
	}
	return hashed(name, from, most)
}

// hashed returns the characters of a name that MLflow takes, at most so many, and a hash of from.
func hashed(name, from string, most int) string {
	plain := plainOf(name)
	const digits = 12
	return plain[:min(len(plain), most)] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(from)))[:digits]
}

// plainOf replaces what MLflow does not take. MLflow may use a name as a path of files, so it has no dots and spaces at its ends.
func plainOf(name string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.', c == ' ':
			return c
		}
		return '_'
	}, name), ". ")
}
