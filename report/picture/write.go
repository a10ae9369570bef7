package picture

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Drawing is a picture that Write can draw: *Reliability, *Overlay, *Classes, *CORP, *Curves, *CalibrationCurve, *Histogram, *Coverage,
// *Spread, *Forest, *Gaps or *Flips.
type Drawing interface {
	size() (width, height vg.Length)
	draw(p *page)
}

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

// dpi is the resolution of PNG files.
const dpi = 180

// Check returns an error if Write cannot draw in a format: the format does not exist, or there is no folder for temporary files, which
// a PDF needs for its font.
func Check(format string) error {
	if !slices.Contains(Formats(), format) {
		return fmt.Errorf("picture: there is no format %q; there are %s", format, strings.Join(Formats(), ", "))
	}
	if format != "pdf" {
		return nil
	}
	dir, err := os.MkdirTemp("", "candor-")
	if err != nil {
		return fmt.Errorf("picture: the font of a PDF goes through a temporary file: %w; set TMPDIR to a folder that may be written, or draw an .svg", err)
	}
	return os.Remove(dir)
}

// Write draws d to w in a format: "png" (180 dpi), "svg" or "pdf". Equal pictures give equal bytes. Errors are those of w and of
// Check. In a PDF, characters outside Latin-1 become question marks.
func Write(w io.Writer, format string, d Drawing) error {
	if err := Check(format); err != nil {
		return err
	}
	width, height := d.size()
	var c vg.CanvasSizer
	var to io.WriterTo
	switch format {
	case "png":
		img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		c, to = img, vgimg.PngCanvas{Canvas: img}
	case "svg":
		svg := vgsvg.New(width, height)
		c, to = svg, svg
	case "pdf":
		pdf := &latinPDF{vgpdf.New(width, height)}
		c, to = pdf, pdf
	}
	d.draw(newPage(draw.New(c)))
	var b bytes.Buffer
	if _, err := to.WriteTo(&b); err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	out := b.Bytes()
	switch format {
	case "svg":
		out = texts.ReplaceAllFunc(out, anyFont)
	case "pdf":
		out = dates.ReplaceAll(out, []byte("$1(D:20000101000000)"))
	}
	_, err := w.Write(out)
	return err
}

// texts finds the texts in an SVG: position, size and text.
var texts = regexp.MustCompile(`(?s)<text ([^>]*?)\s*style="font-family:[^"]*?font-size:([0-9.]+)px"?[^>]*>([^<]*)</text>`)

// anyFont names fallback fonts, and states the intended width of the text.
func anyFont(t []byte) []byte {
	m := texts.FindSubmatch(t)
	size, err := strconv.ParseFloat(string(m[2]), 64)
	if err != nil {
		return t
	}
	width := style(vg.Length(size), black).Width(html.UnescapeString(string(m[3])))
	return fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" %s`, width.Points(),
		bytes.Replace(t[len("<text "):], []byte("font-family:Liberation Sans;"),
			[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"), 1))
}

// dates finds the creation dates in a PDF. Replacements have the same length, since a PDF refers to byte offsets.
var dates = regexp.MustCompile(`(/(?:CreationDate|ModDate) )\(D:[0-9]{14}\)`)

// latinPDF encodes text for a PDF's font: in code page 1252, of which Latin-1 is enough here.
type latinPDF struct{ *vgpdf.Canvas }

func (c *latinPDF) FillString(f font.Face, pt vg.Point, s string) {
	var b []byte
	for _, r := range s {
		if r < 0x80 || r >= 0xa0 && r <= 0xff {
			b = append(b, byte(r))
		} else {
			b = append(b, '?')
		}
	}
	c.Canvas.FillString(f, pt, string(b))
}
