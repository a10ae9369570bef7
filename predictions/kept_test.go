package predictions

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions/roles"
)

// cellTexts returns the cells of a column as texts, "?" before those that are missing.
func cellTexts(c Column, v *Cells, rows int) (l []string) {
	for i := range rows {
		s := ""
		switch c.Type {
		case Float64Column:
			s = fmt.Sprint(v.Float64[i])
		case Float32Column:
			s = fmt.Sprint(v.Float32[i])
		case Int64Column:
			s = fmt.Sprint(v.Int64[i])
		case BoolColumn:
			s = fmt.Sprint(v.Bool[i])
		default:
			s = string(v.Text(i))
		}
		if v.Missing != nil && v.Missing[i] {
			s = "?"
		}
		l = append(l, s)
	}
	return l
}

// TestKept: the columns that a reader keeps are those that were written, with the types of the file and in step with the rows.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	for _, name := range everyForm {
		path := filepath.Join(dir, name)
		if !IsTable(path) && !HasColumns(path) {
			continue // it is written, and not read
		}
		const rows = 3000
		writeTable(t, path, rows)
		writeTable(t, strings.Replace(path, "t.", "t2.", 1), rows/2)
		var names []string
		for _, c := range keptColumns {
			names = append(names, c.Name)
		}
		slices.Reverse(names)
		got := make([][]string, len(names))
		rowsKept := 0
		var columns []Column
		o := &TableOptions{Columns: roles.Want{Scores: []string{"score"}, Kept: names}, Unlabelled: true, BufferBytes: 10_000}
		o.Keep = func(rows int, cells []Cells) error {
			for i := range cells {
				got[i] = append(got[i], cellTexts(columns[i], &cells[i], rows)...)
			}
			rowsKept += rows
			return nil
		}
		r, err := OpenTable([]string{path, strings.Replace(path, "t.", "t2.", 1)}, o)
		if err != nil {
			t.Fatal(err)
		}
		columns = r.KeptColumns()
		n := 0
		for {
			c, err := r.Next()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if n += c.Rows; rowsKept != n {
				t.Fatalf("%s: %d rows are kept behind %d rows", name, rowsKept, n)
			}
			for i, v := range c.F64 {
				if at := n - c.Rows + i; fmt.Sprint(v) != got[len(got)-1][at] && columns[0].Type != UntypedColumn {
					t.Fatalf("%s, row %d: the score is %v, and %s is kept", name, at, v, got[len(got)-1][at])
				}
			}
			c.Recycle()
		}
		r.Close()
		if n != rows+rows/2 {
			t.Fatalf("%s: %d rows", name, n)
		}
		first, second := kept(0, rows), kept(0, rows/2)
		for i, want := range slices.Backward(keptColumns) {
			k := len(names) - 1 - i
			l := append(cellTexts(want, &first[i], rows), cellTexts(want, &second[i], rows/2)...)
			if columns[k].Name != want.Name || columns[k].Type != want.Type && columns[k].Type != UntypedColumn {
				t.Errorf("%s: column %v, want %v", name, columns[k], want)
			}
			for j, s := range l {
				g := got[k][j]
				if columns[k].Type == UntypedColumn && (s == "+Inf" || s == "-Inf") {
					s = strings.TrimPrefix(strings.ToLower(s), "+")
				}
				if g != s {
					t.Fatalf("%s, column %q, row %d: %q, want %q", name, want.Name, j, g, s)
				}
			}
		}
	}
}

// TestKeptPicked: of rows that are left out, nothing is kept.
func TestKeptPicked(t *testing.T) {
	dir := t.TempDir()
	var x, y strings.Builder
	x.WriteString("id;p;note;n\n")
	y.WriteString("id,y\n")
	var want []string
	const rows = 2000
	for i := range rows {
		note := strings.Repeat("é", i%3)
		fmt.Fprintf(&x, "r%d;0,5;%s;%d,5\n", i, note, i)
		if i%7 == 0 || i%5 == 3 {
			continue
		}
		fmt.Fprintf(&y, "r%d,%d\n", i, i%2)
		if note == "" {
			note = "?"
		}
		want = append(want, fmt.Sprint(note, " r", i, " ", i, ".5"))
	}
	in, truth := filepath.Join(dir, "x.csv"), filepath.Join(dir, "y.csv")
	for path, s := range map[string]string{in: x.String(), truth: y.String()} {
		if err := os.WriteFile(path, []byte(s), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	r, err := OpenTable([]string{in}, &TableOptions{Columns: roles.Want{Scores: []string{"p"}, Keys: []string{"id"}, Kept: []string{"note", "id", "n"}},
		Truth: &Truth{Path: truth, Label: "y", Keys: []string{"id"}, Drop: true, Memory: 1 << 20},
		Keep: func(rows int, cells []Cells) error {
			var l [3][]string
			for i := range cells {
				l[i] = cellTexts(Column{"", UntypedColumn}, &cells[i], rows)
			}
			for i := range rows {
				got = append(got, l[0][i]+" "+l[1][i]+" "+l[2][i])
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		n += c.Rows
		c.Recycle()
	}
	if n != len(want) || !slices.Equal(got, want) {
		t.Errorf("%d rows and %d kept, want %d", n, len(got), len(want))
	}
}
