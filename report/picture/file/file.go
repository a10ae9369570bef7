// Package file writes scenes as PNG, SVG and PDF. Equal scenes give equal bytes on every CPU: files hold no time and no name of a machine,
// and the pixels of a PNG are computed in whole numbers.
package file

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/sfnt"

	"github.com/candor-go/candor/report/scene"
)

// Formats lists the formats, which are also file extensions.
func Formats() []string { return []string{"png", "svg", "pdf"} }

// FormatOf returns the format for the extension of a file name, in either case; ok is false if there is none.
func FormatOf(file string) (format string, ok bool) {
	ext := strings.ToLower(filepath.Ext(file))
	for _, f := range Formats() {
		if ext == "."+f {
			return f, true
		}
	}
	return "", false
}

// Write writes a scene to w in a format: "png" (216 dpi), "svg" or "pdf". PNG and PDF have the light colours; a PDF has the font in it. In both, a
// character that the font lacks is a box or a question mark. Errors are those of w, and of a format that does not exist.
func Write(w io.Writer, format string, s *scene.Scene) error {
	var b []byte
	var err error
	switch format {
	case "png":
		b, err = pixels(s)
	case "svg":
		b = s.SVG()
	case "pdf":
		b, err = pdf(s)
	default:
		return fmt.Errorf("file: there is no format %q; there are %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// typeface is Liberation Sans, regular and bold.
type typeface struct {
	ttf  []byte
	font *sfnt.Font
}

// typefaces parses the fonts when the first picture is written.
var typefaces = sync.OnceValue(func() [2]typeface {
	t := [2]typeface{{ttf: liberationsansregular.TTF}, {ttf: liberationsansbold.TTF}}
	for i := range t {
		f, err := sfnt.Parse(t[i].ttf)
		if err != nil {
			panic("file: the font that is built in cannot be read")
		}
		t[i].font = f
	}
	return t
})

// face returns the typeface of a text.
func face(bold bool) typeface {
	if bold {
		return typefaces()[1]
	}
	return typefaces()[0]
}
