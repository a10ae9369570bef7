package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/setting"
)

// TestSettings holds that every setting has the words of a command line, with flags that eval or score has.
func TestSettings(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/setting/setting.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		v, ok := node.(*ast.ValueSpec)
		if !ok || len(v.Values) == 0 {
			return true
		}
		library, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		s := setting.Setting(library)
		words := flagsOf[s]
		if words == "" || s.String() != words || strings.Contains(library, "--") {
			t.Errorf("%s is %q to a program, and %q in the command", v.Names[0].Name, library, s)
		}
		return true
	})
	if n != len(flagsOf) {
		t.Errorf("there are %d settings, and %d are spelled", n, len(flagsOf))
	}
	eval, _, err := rootCommand().Find([]string{"eval"})
	if err != nil {
		t.Fatal(err)
	}
	score, _, err := rootCommand().Find([]string{"score"})
	if err != nil {
		t.Fatal(err)
	}
	for s, words := range flagsOf {
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+)`).FindAllStringSubmatch(words, -1) {
			if eval.Flag(m[1]) == nil && score.Flag(m[1]) == nil {
				t.Errorf("%s: neither candor eval nor candor score has --%s", string(s), m[1])
			}
		}
	}
}
