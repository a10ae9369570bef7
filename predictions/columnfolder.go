package predictions

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// partition is the value that a Hive folder, as date=2026-11-23, gives all rows of its files.
type partition struct{ key, value string }

// hiveNull is the value of rows without one.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// errNoColumns is the reason why a folder is not read: it has no file of a format with columns.
var errNoColumns = errors.New("no file of a format with columns")

// filesIn returns the files of a folder as Spark and others write it, in natural order, all of one format. Names that begin with a dot or an
// underscore are no data.
func filesIn(from fs.FS, folder string) ([]string, columnFormat, *Error) {
	tree := from
	if tree == nil {
		tree = os.DirFS(folder)
	} else if sub, err := fs.Sub(tree, folder); err == nil {
		tree = sub
	}
	var files []string
	var format columnFormat
	var e *Error
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			e = cannotOpen(err)
			return err
		case name == ".":
			return nil
		case d.IsDir() && base == "_delta_log":
			e = staleFiles("a table of Delta Lake")
		case d.IsDir() && base == "metadata" && hasIceberg(tree, name):
			e = staleFiles("a table of Iceberg")
		case strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		default:
			f, ok := formatOf(base)
			if !ok && IsTable(base) {
				f.name, ok = "text", true
			}
			if !ok {
				e = fault("move it elsewhere, or name the files", "a folder with %s, which is not a file of predictions by its name", name)
				break
			}
			if format.name != "" && f.name != format.name {
				e = fault("name the files", "a folder with files of several formats, %s and %s", format.name, f.name)
				break
			}
			format, files = f, append(files, name)
		}
		if e != nil {
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case e != nil:
		return nil, format, e
	case err != nil:
		return nil, format, cannotOpen(err)
	case len(files) == 0:
		return nil, format, fault("name a folder that has some", "a folder without files of predictions").because(errNoColumns)
	}
	sorted := make([]string, len(files))
	for i, j := range naturalOrder(files) {
		sorted[i] = filepath.Join(folder, filepath.FromSlash(files[j]))
	}
	return sorted, format, nil
}

// within returns an Error for a folder of the files of a table of Delta Lake or Iceberg, whose metadata is in a folder above it.
func within(from fs.FS, folder string) *Error {
	at := path.Clean(filepath.ToSlash(folder))
	if from == nil {
		whole, err := filepath.Abs(folder)
		if err != nil {
			return nil
		}
		at = filepath.ToSlash(whole)
	}
	for base := path.Base(at); strings.Contains(base, "=") || base == "data"; base = path.Base(at) {
		up := path.Dir(at)
		if up == at {
			break
		}
		at = up
		tree := from
		if tree == nil {
			tree = os.DirFS(filepath.FromSlash(at))
		} else if sub, err := fs.Sub(tree, at); err == nil {
			tree = sub
		}
		if fi, err := fs.Stat(tree, "_delta_log"); err == nil && fi.IsDir() {
			return staleFiles("files of a table of Delta Lake")
		}
		if hasIceberg(tree, "metadata") {
			return staleFiles("files of a table of Iceberg")
		}
	}
	return nil
}

// staleFiles is the Error of tables whose folders have files of older versions.
func staleFiles(what string) *Error {
	return fault("write its current rows as Parquet: the folder still has those of older versions", "%s", what)
}

// hasIceberg reports whether a folder has metadata of Iceberg.
func hasIceberg(tree fs.FS, folder string) bool {
	l, err := fs.Glob(tree, path.Join(folder, "*.metadata.json"))
	return err == nil && len(l) > 0
}

// partitions returns the values that the folders below root give a file.
func partitions(root, file string) (l []partition) {
	rest, err := filepath.Rel(root, file)
	if err != nil {
		return nil
	}
	for _, s := range strings.Split(filepath.ToSlash(filepath.Dir(rest)), "/") {
		if key, value, ok := strings.Cut(s, "="); ok && key != "" {
			if u, err := url.PathUnescape(value); err == nil {
				value = u
			}
			if value == hiveNull {
				value = ""
			}
			l = append(l, partition{key, value})
		}
	}
	return l
}

// expand replaces folders by their files. roots are the folders of the files, "" of one that was named.
func expand(from fs.FS, paths []string) (files, roots []string, e *Error) {
	for _, p := range paths {
		var fi fs.FileInfo
		var err error
		if p == "-" {
			err = fs.ErrNotExist
		} else {
			fi, err = statFile(from, p)
		}
		if err != nil || !fi.IsDir() {
			files, roots = append(files, p), append(roots, "")
			continue
		}
		if e := within(from, p); e != nil {
			return nil, nil, e.in(p)
		}
		in, _, e := filesIn(from, p)
		if e != nil {
			return nil, nil, e.in(p)
		}
		files, roots = append(files, in...), append(roots, slices.Repeat([]string{p}, len(in))...)
	}
	return files, roots, nil
}
