//go:build !js

package main

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/candor-go/candor/predictions/memory"
	"github.com/candor-go/candor/predictions/remote"
)

// remoteClient is the client for URLs in tests; nil for the usual one.
var remoteClient = func() *remote.FS { return remote.New(nil) }

// openRemote replaces URLs among the names of files by names without what follows the question mark, under which they are opened. It returns
// nil if there are none.
func openRemote(lists ...*[]string) (*remote.FS, error) {
	if !slices.ContainsFunc(lists, func(l *[]string) bool {
		return slices.ContainsFunc(*l, func(p string) bool { return strings.Contains(p, "://") })
	}) {
		return nil, nil
	}
	from := remoteClient()
	for _, l := range lists {
		*l = slices.Clone(*l)
		for i, p := range *l {
			if at := strings.Index(p, "://"); at < 1 || strings.Trim(strings.ToLower(p[:at]), "abcdefghijklmnopqrstuvwxyz0123456789+.-") != "" {
				continue
			} else if !remote.Is(p) {
				return nil, usage("%s: candor reads an object store by presigned URLs, https://..., or through a pipe, named -; make a URL, for example with aws s3 presign", withoutQueries(p))
			}
			// A column of a table follows its name.
			column := ""
			if before, after, ok := cutLast(p, ":"); ok && isColumns(strings.SplitN(before, "?", 2)[0]) && !strings.ContainsAny(after, "/?&=%") {
				p, column = before, ":"+after
			}
			name, err := from.Add(p)
			if err != nil {
				return nil, usage("%s: %v; make one URL for each file", withoutQueries(p), err)
			}
			(*l)[i] = name + column
		}
	}
	return from, nil
}

// openURLs is openRemote for files that are described.
func openURLs(paths *[]string) (fs.FS, error) {
	from, err := openRemote(paths)
	if from == nil {
		return nil, err
	}
	return from, err
}

// useRemote opens the URLs among the files that are read, and the arrays in memory.
func (f *evalFlags) useRemote(paths *[]string) error {
	mean, sd, observed, errs, scale := one(f.columns.mean), one(f.columns.std), one(f.columns.observed), one(f.columns.error), one(f.columns.scale)
	cluster := one(f.columns.cluster)
	lists := []*[]string{paths, &f.labels, &f.weights, &f.decisions, &f.scores, &f.ood, &f.columns.groups, &f.tokens.bytes, &f.tokens.sequences,
		&mean, &sd, &observed, &errs, &scale, &cluster}
	if slices.ContainsFunc(lists, func(l *[]string) bool { return slices.ContainsFunc(*l, memory.Is) }) {
		f.from = memory.FS{}
		return nil
	}
	from, err := openRemote(lists...)
	if err != nil || from == nil {
		return err
	}
	for to, l := range map[*string][]string{&f.columns.mean: mean, &f.columns.std: sd, &f.columns.observed: observed, &f.columns.error: errs, &f.columns.scale: scale, &f.columns.cluster: cluster} {
		if len(l) > 0 {
			*to = l[0]
		}
	}
	for _, source := range []string{f.choices.from, f.model.from} {
		if source != "" {
			return usage("--from %s reads files of the system, and no URLs; copy them first", source)
		}
	}
	f.from, f.fromMemory = from, int64(from.Len())*remote.Memory
	return nil
}
