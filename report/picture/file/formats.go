//go:build !js

package file

import (
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/sfnt"

	"github.com/candor-go/candor/report/scene"
)

var formats = []string{"png", "svg", "pdf"}

// encoded returns a scene in one of the formats.
func encoded(s *scene.Scene, format string) ([]byte, error) {
	switch format {
	case "png":
		return pixels(s)
	case "pdf":
		return pdf(s)
	}
	return s.SVG(), nil
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
