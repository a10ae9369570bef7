//go:build linux

package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

const aboutHostile = `Files that were made to do harm: headers that promise more than there is, a gibibyte of zeros in a few kilobytes, deep nesting, endless lines, names
with escapes and HTML. A fault is what it is for damaged files; escapes that reach the terminal or a page; or an answer where there is none.`

// hostile is a file, and what has to happen to it.
type hostile struct {
	name    string
	file    string
	data    func() ([]byte, error)
	args    string // {} is the file
	refused bool   // it has to be an error; else an answer
	// forbidden must not be in the page, if one is written, or else in what is printed.
	forbidden []string
}

func constant(b []byte) func() ([]byte, error) { return func() ([]byte, error) { return b, nil } }

// packed returns a bomb: this many zeros, as a writer packs them.
func packed(size int64, prefix string, pack func(w io.Writer) (io.WriteCloser, error)) func() ([]byte, error) {
	return func() ([]byte, error) {
		var b bytes.Buffer
		w, err := pack(&b)
		if err != nil {
			return nil, err
		}
		if _, err := io.WriteString(w, prefix); err != nil {
			return nil, err
		}
		zeros := make([]byte, 1<<20)
		for ; size > 0; size -= int64(len(zeros)) {
			if _, err := w.Write(zeros); err != nil {
				return nil, err
			}
		}
		return b.Bytes(), w.Close()
	}
}

// header is the start of an .npy file.
func header(text string) []byte {
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return append([]byte{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, byte(len(text)), byte(len(text) >> 8)}, text...)
}

func hostiles() []hostile {
	const gigabyte = 1 << 30
	zipped := func(w io.Writer) (io.WriteCloser, error) {
		z := zip.NewWriter(w)
		f, err := z.Create("probs.npy")
		return struct {
			io.Writer
			io.Closer
		}{f, z}, err
	}
	escapes := "\x1b[31mred\x1b[0m\x07\x9b2J\u202e"
	names := func(name string) []byte {
		return []byte(fmt.Sprintf("p,y,site\n0.25,0,%q\n0.75,1,%[1]q\n0.5,1,plain\n0.1,0,plain\n", name))
	}
	quoted := func(name string) []byte { return bytes.ReplaceAll(names("NAME"), []byte("NAME"), []byte(name)) }
	groups := "eval {} --prob p --label y --group site "
	return []hostile{
		{"an array of 2^62 rows", "p.npy", constant(header("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 10), }")), "eval {} --labels {}", true, nil},
		{"an array whose size overflows", "p.npy", constant(header("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }")), "eval {} --labels {}", true, nil},
		{"an array of 2^40 classes", "p.npy", constant(append(header("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1099511627776), }"), 0, 0, 0, 0)), "eval {} --labels {}", true, nil},
		{"a negative shape", "p.npy", constant(header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2), }")), "eval {} --labels {}", true, nil},
		{"a pickled object", "p.npy", constant(append(header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), "cos\nsystem\n(S'touch out.csv'\ntR."...)), "eval {} --labels {}", true, nil},
		{"an .npz of a GiB of zeros", "t.npz", packed(gigabyte, "", zipped), "eval {}", true, nil},
		{"a .csv.gz of a GiB of zeros", "t.csv.gz", packed(gigabyte, "p,y\n", func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }), "eval {} --prob p --label y", true, nil},
		{"a .csv.zst of a GiB of zeros", "t.csv.zst", packed(gigabyte, "p,y\n", func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }), "eval {} --prob p --label y", true, nil},
		{"JSON that nests a million times", "t.jsonl", constant([]byte(strings.Repeat("[", 1_000_000))), "eval {} --prob p --label y", true, nil},
		{"objects that nest a million times", "t.jsonl", constant([]byte(strings.Repeat(`{"p":`, 1_000_000))), "eval {} --prob p --label y", true, nil},
		{"a line of 64 MiB", "t.csv", constant([]byte("p,y\n" + strings.Repeat("1", 64<<20))), "eval {} --prob p --label y", true, nil},
		{"a quoted field that does not end", "t.csv", constant([]byte("p,y\n\"" + strings.Repeat("\n", 16<<20))), "eval {} --prob p --label y", true, nil},
		{"a million columns", "t.csv", constant([]byte(strings.Repeat("a,", 1_000_000) + "y\n")), "eval {} --prob a --label y", true, nil},
		{"a number of 10 MiB", "t.csv", constant([]byte("p,y\n0." + strings.Repeat("1", 10<<20) + ",1\n")), "eval {} --prob p --label y", false, nil},
		{"a state that is a header", "t.state", constant([]byte("cSTA\x01\x00\xff\xff\xff\xff\xff\xff\xff\x7f")), "merge {}", true, nil},
		{"a map of deep JSON", "t.json", constant([]byte(strings.Repeat(`{"method":`, 1_000_000))), "recal apply {} {} -o out.csv", true, nil},
		{"escapes in a name of a group, in the table", "t.csv", constant(names(escapes)), groups, false, []string{"\x1b", "\x07", "\x9b", "\u202e"}},
		{"escapes in a name of a group, in a page", "t.csv", constant(names(escapes)), groups + "--html out.html", false, []string{"\x1b", "\x07", "\x9b", "\u202e"}},
		{"escapes in a class, in an error", "t.csv", constant(bytes.ReplaceAll(names("x"), []byte(",1,"), []byte(",\x1b[2J,"))), "eval {} --prob p --label y", true, []string{"\x1b"}},
		{"HTML in a name of a group", "t.csv", constant(quoted("</script><script>alert(1)</script><img src=x onerror=alert(1)>")), groups + "--html out.html", false, []string{"<script>alert", "<img", "</script><"}},
	}
}

func tryHostile(c *campaign) (*table, error) {
	t := &table{head: []string{"file", "bytes", "what happens", "memory, MiB"}}
	l := hostiles()
	rows := make([][]string, len(l))
	err := c.each(len(l), func(i int, _ *rand.Rand) error {
		h := l[i]
		dir, err := os.MkdirTemp(c.dir, "h")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b, err := h.data()
		if err != nil {
			return err
		}
		if err := write(dir, h.file, b); err != nil {
			return err
		}
		o, err := c.measured(command{dir: dir, args: strings.Fields(strings.ReplaceAll(h.args, "{}", h.file))})
		if err != nil {
			return err
		}
		c.tried(1)
		if wrong := o.unsound(damageMemory); wrong != "" {
			c.fault("%s: %s", h.name, wrong)
		}
		if h.refused != o.refused() {
			c.fault("%s: exit code %d: %.200q", h.name, o.code, o.stderr)
		}
		seen := [][]byte{o.stdout, o.stderr}
		if page, err := os.ReadFile(filepath.Join(dir, "out.html")); err == nil {
			seen = [][]byte{page}
		}
		if _, err := os.Stat(filepath.Join(dir, "out.csv")); err == nil {
			c.fault("%s: out.csv was written", h.name)
		}
		for _, b := range seen {
			for _, s := range h.forbidden {
				if i := bytes.Index(b, []byte(s)); i >= 0 {
					c.fault("%s: %q is in %.100q", h.name, s, b[max(0, i-20):])
				}
			}
		}
		said := "an answer"
		if o.refused() {
			said = "an error"
		}
		rows[i] = []string{h.name, thousands(int64(len(b))), said, fmt.Sprint(o.memory >> 20)}
		return nil
	})
	t.rows = rows
	return t, err
}
