package scene

import (
	"strings"
	"unicode"

	"github.com/candor-go/candor/internal/visible"
)

//go:generate go run ./_gen
//go:generate gofmt -w widths.go

// Width returns the width of a text in points, as Liberation Sans has it, and as Arial and Helvetica do. Widths of characters beyond
// Latin-1 and a few signs are guesses on the wide side.
func Width(s string, size Size, bold bool) float64 {
	widths, signs := regularWidths[:], regularSigns
	if bold {
		widths, signs = boldWidths[:], boldSigns
	}
	n := 0
	for _, r := range visible.Text(s) {
		switch {
		case r >= 0x20 && r <= 0x7e:
			n += int(widths[r-0x20])
		case r >= 0xa0 && r <= 0xff:
			n += int(widths[r-0xa0+0x5f])
		case signs[r] > 0:
			n += int(signs[r])
		case unicode.Is(unicode.Mn, r):
		case r < 0x1100:
			n += em * 7 / 10
		default:
			n += em
		}
	}
	return float64(n) * size.Points() / em
}

// Cut shortens a text to a width, with an ellipsis at its end.
func Cut(s string, size Size, bold bool, width float64) string {
	if Width(s, size, bold) <= width {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && Width(string(r)+"…", size, bold) > width {
		r = r[:len(r)-1]
	}
	return strings.TrimRight(string(r), " ") + "…"
}

// CutMiddle shortens a text to a width, with an ellipsis in its middle: names often differ at their ends.
func CutMiddle(s string, size Size, bold bool, width float64) string {
	if Width(s, size, bold) <= width {
		return s
	}
	r := []rune(s)
	for n := len(r) - 1; n > 0; n-- {
		if short := string(r[:(n+1)/2]) + "…" + string(r[len(r)-n/2:]); Width(short, size, bold) <= width {
			return short
		}
	}
	return "…"
}

// Wrap breaks a text into lines: at its line ends, and at spaces where a line would be wider than width. It cuts words wider than that.
func Wrap(s string, size Size, bold bool, width float64) []string {
	var lines []string
	for _, part := range strings.Split(s, "\n") {
		line := ""
		for _, word := range strings.Fields(part) {
			switch {
			case line == "":
				line = word
			case Width(line+" "+word, size, bold) <= width:
				line += " " + word
			default:
				lines = append(lines, Cut(line, size, bold, width))
				line = word
			}
		}
		if line != "" {
			lines = append(lines, Cut(line, size, bold, width))
		}
	}
	return lines
}
