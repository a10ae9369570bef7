package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesPictures draws every picture of docs/pictures by the commands that stand below it on a page of docs, and compares. With -update it
// writes the pictures anew. The gallery has every kind of picture.
func TestPagesPictures(t *testing.T) {
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	if err != nil {
		t.Fatal(err)
	}
	// The commands are run where they find testdata, and what they write is in nobody's way.
	room := t.TempDir()
	t.Chdir(room)
	if err := os.Symlink(filepath.Join(docs, "..", "testdata"), "testdata"); err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, pattern := range []string{"*.md", "metrics/*.md"} {
		l, err := filepath.Glob(filepath.Join(docs, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, l...)
	}
	drawn := map[string]string{} // the commands by the picture
	kinds := map[string]bool{}
	picture := regexp.MustCompile("!\\[([^]]+)\\]\\((?:\\.\\./)?pictures/(\\w[\\w-]*\\.svg)\\)\n\n(?:[^`\n][^\n]*\n+)*```\n((?:candor [^\n]*\n)+)```")
	linked := regexp.MustCompile(`\]\((?:\.\./)?pictures/[\w-]+\.svg\)`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		shown := picture.FindAllStringSubmatch(string(text), -1)
		if n := len(linked.FindAllString(string(text), -1)); n != len(shown) {
			t.Errorf("%s has %d pictures, and commands below %d", page, n, len(shown))
		}
		for _, m := range shown {
			name, commands := m[2], m[3]
			if before, ok := drawn[name]; ok && before != commands {
				t.Errorf("%s draws %s by\n%sand another page by\n%s", page, name, commands, before)
			}
			if filepath.Base(page) == "gallery.md" {
				kinds[plotKinds[0].name] = kinds[plotKinds[0].name] || !strings.Contains(commands, "--plot-kind")
				for _, k := range regexp.MustCompile(`--plot-kind (\S+)`).FindAllStringSubmatch(commands, -1) {
					kinds[k[1]] = true
				}
			}
			if drawn[name] == "" {
				drawn[name] = commands
				draw(t, filepath.Join(docs, "pictures", name), strings.Split(strings.TrimSuffix(commands, "\n"), "\n"))
			}
		}
	}
	all := []string{plotGroups, plotDifferences, plotGaps, plotFlips}
	for _, k := range plotKinds {
		all = append(all, k.name)
	}
	for _, k := range all {
		if !kinds[k] {
			t.Errorf("docs/gallery.md has no picture of --plot-kind %s", k)
		}
	}
	files, err := filepath.Glob(filepath.Join(docs, "pictures", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if drawn[filepath.Base(f)] == "" {
			t.Errorf("no page draws %s", f)
		}
	}
}

// draw runs the commands, of which the last draws the picture, and compares what it draws with the file.
func draw(t *testing.T, file string, commands []string) {
	t.Helper()
	for _, line := range commands {
		args := strings.Fields(line)[1:]
		if code, _, errs := candor(t, args...); code != 0 {
			t.Errorf("%s: exit code %d: %s", line, code, errs)
			return
		}
	}
	compareDrawn(t, filepath.Base(file), file)
}

// TestRealPictures draws the two pictures of docs that are of a real set.
func TestRealPictures(t *testing.T) {
	set := filepath.Join(realSets(t), "cl_c10_resnet50_cv50k")
	docs, err := filepath.Abs(filepath.Join("..", "..", "docs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(set)
	for _, kind := range []string{"reliability", "corp"} {
		file, drawn := filepath.Join(docs, kind+".svg"), filepath.Join(t.TempDir(), kind+".svg")
		if code, _, errs := candor(t, "eval", "probs.npy", "--labels", "labels.npy", "--plot", drawn, "--plot-kind", kind); code != 0 {
			t.Fatalf("%s: exit code %d: %s", kind, code, errs)
		}
		compareDrawn(t, drawn, file)
	}
}

// compareDrawn compares a picture with the file of docs that has it, or with -update writes that anew.
func compareDrawn(t *testing.T, drawn, file string) {
	t.Helper()
	got, err := os.ReadFile(drawn)
	if err != nil {
		t.Errorf("%s is not drawn: %v", file, err)
		return
	}
	if len(got) > 40<<10 {
		t.Errorf("%s has %d bytes: a page loads it too slowly", file, len(got))
	}
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what is drawn now", file)
	}
}
