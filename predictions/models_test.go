package predictions_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions"
)

// readModel reads all rows of a model.
func readModel(path string, o *predictions.ModelOptions) (rows int, err error) {
	r, err := predictions.OpenModel([]string{path}, o)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		c, err := r.Next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += c.Rows
	}
}

// TestCutModels: every cut and every changed byte of a long table, and of what was observed, gives rows or an *Error.
func TestCutModels(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	csv := "place,day,output_type,output_type_id,value\n01,2026-11-23,quantile,0.25,1\n01,2026-11-23,quantile,0.75,2\n2,2026-11-24,quantile,0.25,1\n2,2026-11-24,quantile,0.75,\"2\"\n"
	lines := `{"place": "01", "day": "2026-11-23T00:00:00", "output_type": "quantile", "output_type_id": 0.25, "value": 1}
{"place": "01", "day": "2026-11-23", "output_type": "quantile", "output_type_id": 0.75, "value": 2}
`
	oracle := "day,oracle_value\n2026-11-23,1\n2026-11-24 00:00:00,3\n"
	for _, c := range []struct {
		name, text string
		rows       int
		truth      bool
	}{{"m.csv", csv, 2, false}, {"m.jsonl", lines, 1, false}, {"o.csv", oracle, 2, true}} {
		try := func(text string) (int, error) {
			o := &predictions.ModelOptions{Model: "m", Output: predictions.OutputQuantile}
			table := put("m"+filepath.Ext(c.name), text)
			o.Oracle = []string{put("o.csv", oracle)}
			if c.truth {
				table = put("m.csv", csv)
				o.Oracle[0] = put("o.csv", text)
			}
			if _, err := predictions.ListModels([]string{table}, o); err != nil && !errors.As(err, new(*predictions.Error)) {
				t.Errorf("%q: %v", text, err)
			}
			rows, err := readModel(table, o)
			if err != nil && !errors.As(err, new(*predictions.Error)) {
				t.Errorf("%q: %v", text, err)
			}
			return rows, err
		}
		if rows, err := try(c.text); rows != c.rows || err != nil {
			t.Fatalf("%s: %d rows, %v", c.name, rows, err)
		}
		failed := 0
		for i := range c.text {
			if _, err := try(c.text[:i]); err != nil {
				failed++
			}
			for _, b := range []string{"\x00", "\"", ",", "\n", "9"} {
				try(c.text[:i] + b + c.text[i+1:])
			}
		}
		if failed < len(c.text)/2 {
			t.Errorf("%s: %d of %d cuts are errors", c.name, failed, len(c.text))
		}
	}
	o := &predictions.ModelOptions{Layout: predictions.Nixtla, Model: "A", Output: predictions.OutputQuantile}
	if _, err := readModel(put("n.csv", "unique_id,ds,y,A,A-lo-95.5,A-hi-95.5\na,1,2,2,1,3\n"), o); err != nil {
		t.Error(err)
	}
	r, err := predictions.OpenModel([]string{filepath.Join(dir, "n.csv")}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if l := r.Levels(); len(l) != 2 || l[0] != 0.0225 || l[1] != 0.9775 || !strings.HasPrefix(r.Joined(), "quantile of A-lo-95.5, A-hi-95.5") {
		t.Errorf("levels %v of %s", l, r.Joined())
	}
}
