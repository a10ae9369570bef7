package file

import "github.com/candor-go/candor/report/scene"

// PNG and PDF need a font and libraries as large as all else of the program.
var formats = []string{"svg"}

// encoded returns a scene as SVG.
func encoded(s *scene.Scene, _ string) ([]byte, error) { return s.SVG(), nil }
