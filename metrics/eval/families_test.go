package eval

import (
	"slices"
	"strings"
	"testing"
)

// TestFamilies: each metric is in one family, and a family has no other names.
func TestFamilies(t *testing.T) {
	names := 0
	for _, f := range families {
		for _, name := range strings.Fields(f.metrics) {
			names++
			if d := Describe(name); d == nil || d.Family() != f.name {
				t.Errorf("%s has %q, which is no metric or in another family too", f.name, name)
			}
		}
	}
	for _, d := range Descriptors() {
		if !slices.Contains(Families(), d.Family()) {
			t.Errorf("%s is in no family", d.Name)
		}
	}
	if n := len(Descriptors()); n != names {
		t.Errorf("the families have %d names of %d metrics", names, n)
	}
}
