package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestForecastColumns: forecasts in Parquet, as testdata/forecasts/make.py wrote them, and in JSON Lines give the document of the same
// numbers in CSV, with the same groups by date and by text.
func TestForecastColumns(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "forecasts")
	flags := []string{"--json", "--task", "regression", "--mean", "SeasonalNaive", "--std", "SeasonalNaive-hi-50", "--observed", "y", "--metrics", "all"}
	grouped := append(flags[1:len(flags):len(flags)], "--group", "unique_id,cutoff", "--format", "csv")
	csv := filepath.Join(dir, "nixtla.csv")
	want, ofGroups := printed(t, append([]string{"eval", csv}, flags...)...), printed(t, append([]string{"eval", csv}, grouped...)...)
	if !strings.Contains(ofGroups, "2020-02-08") {
		t.Fatalf("no group of a date:\n%s", ofGroups)
	}
	for _, name := range []string{"nixtla.parquet", "nixtla.jsonl"} {
		if got := printed(t, append([]string{"eval", filepath.Join(dir, name)}, flags...)...); got != want {
			t.Errorf("%s: %s", name, differing(got, want))
		}
		if got := printed(t, append([]string{"eval", filepath.Join(dir, name)}, grouped...)...); got != ofGroups {
			t.Errorf("%s, groups: %s", name, differing(got, ofGroups))
		}
	}
	d := newDir(t)
	for _, c := range forecastTasks {
		f := c.rows(31, 300)
		csv := printed(t, append([]string{"eval", d.put("f.csv", f.csv()), "--json", "--group", "kind"}, c.flags...)...)
		lines := printed(t, append([]string{"eval", d.put("f.jsonl", f.jsonLines(t)), "--json", "--group", "kind"}, c.flags...)...)
		if csv != lines {
			t.Errorf("%v: %s", c.flags, differing(lines, csv))
		}
	}
	for _, c := range []struct{ text, want string }{
		{`{"mean": 1, "sd": 1, "observed": "x"}`, `column "observed" has no numbers: it is text; name another column by --observed`},
		{`{"mean": 1, "sd": 1}`, `no column "observed" for the observed value`},
		{"{\"mean\": 1, \"sd\": 1, \"observed\": 2}\n{\"mean\": null, \"sd\": 1, \"observed\": 2}", `line 2, column "mean": mean is NaN`},
		{"{\"mean\": 1, \"sd\": 1, \"observed\": 2}\n{\"mean\": true, \"sd\": 1, \"observed\": 2}", `column "mean"`},
	} {
		refused(t, d, []string{"eval", d.put("bad.jsonl", []byte(c.text)), "--task", "regression"}, c.want)
	}
}

// jsonLines writes the frame as objects.
func (f *frame) jsonLines(t *testing.T) []byte {
	var b []byte
	for i, r := range f.rows {
		o := map[string]any{}
		for j, n := range f.names {
			o[n] = r[j]
		}
		for j, n := range f.by {
			o[n] = f.groups[i][j]
		}
		one, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		b = append(append(b, one...), '\n')
	}
	return b
}
