package predictions

import (
	"io"
	"io/fs"
	"slices"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/roles"
)

// openForecastColumns opens forecasts in files with named columns, and in folders of files. in, if not nil, is the only path, already open
// since it can be read only once.
func openForecastColumns(paths []string, in io.ReadCloser, o *ForecastOptions) (*ForecastReader, *Error) {
	if e := o.inColumns(); e != nil {
		return nil, e
	}
	sorted, under, e := sortedFiles(o.FS, paths)
	if e != nil {
		return nil, e.in(names(o.Names).of(e.File))
	}
	format, ok := formatOf(sorted[0])
	if u, pipe := in.(*unread); pipe {
		format, ok = begunBy(u.start)
	}
	for _, p := range sorted {
		if other, _ := formatOf(p); in == nil && other.name != format.name {
			return nil, fault("shards are all of one format", "by its name it is not %s, as %s is", format.name, names(o.Names).of(sorted[0])).in(names(o.Names).of(p))
		}
	}
	if !ok {
		return openTable(sorted, in, o) // a folder of text
	}
	t := &columnar{format: format, numbers: o, options: &TableOptions{Kind: o.Kind, Columns: roles.Want{Groups: o.Groups, Cluster: o.Cluster, Kept: o.Kept}, Keep: o.Keep, KeepTexts: o.KeepTexts, Names: o.Names, FS: o.FS, Share: o.Share,
		Buffers: o.Buffers, BufferBytes: o.BufferBytes, PartBytes: o.PartBytes}}
	return startColumnar(t, sorted, under, in)
}

// sortedFiles replaces folders by their files and returns all in natural order. roots are the folders of the files, "" of one that was named.
func sortedFiles(from fs.FS, paths []string) (files, roots []string, e *Error) {
	paths, under, e := expand(from, paths)
	if e != nil {
		return nil, nil, e
	}
	files, roots = make([]string, len(paths)), make([]string, len(paths))
	for i, j := range naturalOrder(paths) {
		files[i], roots[i] = paths[j], under[j]
	}
	return files, roots, nil
}

// layForecast finds the columns of regression forecasts to read, and returns the levels of quantiles.
func (l *columnLayout) layForecast(o *ForecastOptions, f *openColumns, parts []partition) ([]float64, *Error) {
	p, paths := f.columnFile.(pathed)
	if paths {
		for _, name := range append([]string{o.Mean, o.SD, o.Observed, o.Error, o.Weight, o.Cluster}, o.Groups...) {
			if name != "" {
				p.Path(name)
			}
		}
		f.columns = f.Columns()
	}
	header := &layout{}
	for i := range f.columns {
		header.names = append(header.names, f.columns[i].Name)
	}
	for _, p := range parts { // which stand behind the file's columns
		if !slices.Contains(header.names, p.key) {
			header.names = append(header.names, p.key)
		}
	}
	uses, levels, e := header.bind(o)
	if e != nil {
		return nil, e
	}
	l.label, l.weight, l.decision, l.confidence, l.only, l.observed, l.bytes, l.sequence = -1, -1, -1, -1, -1, -1, -1, -1
	l.classes, l.dimensions, l.clustered = header.classes, header.dimensions, header.clustered
	l.scores, l.scoreColumns = make([]int, l.classes), make([]string, l.classes)
	for _, u := range uses {
		switch {
		case u.group >= 0:
			l.groups = append(l.groups, l.takeOrKey(u.column, f, header.names, parts))
			continue
		case u.kept >= 0:
			l.kept = append(l.kept, l.takeOrKey(u.column, f, header.names, parts))
			continue
		}
		name := header.names[u.column]
		if u.column >= len(f.columns) {
			return nil, fault("name a column of the files", "%q is the key of a folder, which can only group rows, or be their cluster", cut(name))
		}
		if paths {
			p.Float(u.column)
			f.columns = f.Columns()
		}
		if c := &f.columns[u.column]; !isNumber(&c.Type) && !(c.Kind == columns.Bool && u.what == "event") {
			remedy := "name another column by " + columnSetting[u.what].String()
			if u.what == "" {
				remedy = "rename it, or name another prefix by " + setting.Prefix.String()
			}
			return nil, fault(remedy, "column %q has no numbers: it is %s", cut(name), c.Type.Name)
		}
		switch at := l.take(u.column); u.slot {
		case observedSlot:
			l.observed = at
		case weightSlot:
			l.weight = at
		default:
			l.scores[u.slot], l.scoreColumns[u.slot] = at, name
		}
	}
	for _, i := range l.want {
		l.types = append(l.types, f.columns[i])
	}
	if l.dtype = l.typeOf(); l.dtype == metrics.Float16 {
		l.dtype = metrics.Float32
	}
	if e := l.check(); e != nil {
		return nil, e
	}
	return levels, wanted(f, l.want, o.PartBytes)
}
