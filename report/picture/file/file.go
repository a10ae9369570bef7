// Package file writes scenes as PNG, SVG and PDF. Equal scenes give equal bytes on every CPU: files hold no time and no name of a machine,
// and the pixels of a PNG are computed in whole numbers.
package file

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/candor-go/candor/report/scene"
)

// Formats lists the formats, which are also file extensions. In a browser SVG is the only one.
func Formats() []string { return slices.Clone(formats) }

// FormatOf returns the format for the extension of a file name, in either case; ok is false if there is none.
func FormatOf(file string) (format string, ok bool) {
	ext := strings.ToLower(filepath.Ext(file))
	for _, f := range formats {
		if ext == "."+f {
			return f, true
		}
	}
	return "", false
}

// Write writes a scene to w in a format: "png" (216 dpi), "svg" or "pdf". PNG and PDF have the light colours; a PDF has the font in it. In both, a
// character that the font lacks is a box or a question mark. Errors are those of w, and of a format that does not exist.
func Write(w io.Writer, format string, s *scene.Scene) error {
	if !slices.Contains(formats, format) {
		return fmt.Errorf("file: there is no format %q; there are %s", format, strings.Join(formats, ", "))
	}
	b, err := encoded(s, format)
	if err != nil {
		return fmt.Errorf("file: %w", err)
	}
	_, err = w.Write(b)
	return err
}
