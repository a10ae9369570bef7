package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the names by which GitHub links to the headings of a page.
func anchors(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var l []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		l = append(l, strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return l
}

// TestLinks checks that every relative link and every anchor of the documentation resolves, that docs/README.md links to every page, and
// docs/metrics/README.md to every page of a family.
func TestLinks(t *testing.T) {
	docs, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := filepath.Glob("../docs/metrics/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := append(append(docs, families...), "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../SECURITY.md", "../bench/README.md", "../bench/compare/README.md", "../beam/README.md")
	links := 0
	indexes := []string{filepath.Join("..", "docs", "README.md"), filepath.Join("..", "docs", "metrics", "README.md")}
	indexed := indexes[:1:1]
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, ok := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if ok && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, but there is no such heading", page, m[1])
			}
			if slices.Contains(indexes, filepath.Clean(page)) {
				indexed = append(indexed, filepath.Clean(target))
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links", links)
	}
	for _, page := range append(docs, families...) {
		if !slices.Contains(indexed, filepath.Clean(page)) {
			t.Errorf("no index of docs links to %s", page)
		}
	}
}
