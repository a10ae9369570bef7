package predictions

import "github.com/candor-go/candor/predictions/roles"

// Table describes a table of text, by its header and first rows.
type Table struct {
	Columns   []TableColumn
	Separator rune
	Comma     bool  // numbers have decimal commas
	Bytes     int64 // as stored; -1 for a pipe
}

// TableColumn is a column of a Table.
type TableColumn struct {
	Name  string
	Text  bool   // its first cells are not all numbers
	First string // its cell in the first row
}

// InspectTable describes the table of text at a path. It reads the header and the first rows.
func InspectTable(path string) (Table, error) {
	t := &table{options: &ForecastOptions{}}
	f, e := t.probe(path, nil, true)
	if e != nil {
		return Table{}, e
	}
	defer f.text.close()
	out := Table{Separator: rune(t.layout.separator), Comma: f.begins.comma, Bytes: f.size}
	for i, name := range f.header {
		c := TableColumn{Name: name, Text: f.begins.text(i)}
		if i < len(f.begins.first) {
			c.First = f.begins.first[i]
		}
		out.Columns = append(out.Columns, c)
	}
	return out, nil
}

// Propose returns the roles that the columns likely have, for a user to look at. OpenTable reads nothing by it.
func (t *Table) Propose() roles.Want {
	columns := make([]roles.Column, len(t.Columns))
	for i, c := range t.Columns {
		columns[i].Name = c.Name
		if c.Text {
			columns[i].Kind = roles.Text
			if n, ok := listNumbers(nil, []byte(c.First)); ok && n > 0 {
				columns[i].Kind, columns[i].Width = roles.List, n
			}
		}
	}
	return roles.Propose(columns)
}
