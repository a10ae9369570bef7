package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// flag finds a flag of the command, or one of its subcommands, in a message.
var flag = regexp.MustCompile(`--[a-z]|\bcandor (compare|eval|inspect|merge|metrics|recal|score|version)\b`)

// variable finds a variable of a style sheet, which is no flag.
var variable = regexp.MustCompile(`\bvar\(--[a-z]`)

// checkFlags returns the string literals of the library that speak of the command line, and calls of setting.Spell: a Go program reads
// these messages too, so they name what it can choose by a Setting.
func checkFlags(fset *token.FileSet, file *ast.File, dir string, test bool) (found []finding) {
	if test || !matchAny([]string{"kernel/...", "metrics/...", "predictions/...", "recal/...", "report/...", "internal/..."}, dir) || match("internal/ci/...", dir) || match("internal/browser/...", dir) ||
		dir == "internal/campaign" { // it runs the command
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			s, err := strconv.Unquote(n.Value)
			if err != nil {
				panic(err) // the parser lets no other through
			}
			if at := flag.FindString(variable.ReplaceAllString(s, "")); at != "" {
				found = append(found, finding{fset.Position(n.Pos()).String(), "a message with " + strconv.Quote(at) + ": name it by an internal/setting"})
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "setting" && n.Sel.Name == "Spell" {
				found = append(found, finding{fset.Position(n.Pos()).String(), "only a command spells settings"})
			}
		}
		return true
	})
	return found
}

func TestFlagsAreTheCommands(t *testing.T) {
	found, files, err := walk(tree(t), parser.SkipObjectResolution, checkFlags)
	report(t, found, files, err)
}

// TestCheckFlags holds that the check finds what it is for.
func TestCheckFlags(t *testing.T) {
	const source = `package p
import "github.com/candor-go/candor/internal/setting"
var a, b = "pass --labels FILE", ` + "`look at candor merge`" + `
var c, d = "a candor evaluation -- or a dash-", "p{color:var(--ink)}"
func init() { setting.Spell(nil) }
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]int{"predictions": 3, "metrics/eval": 3, "cmd/candor": 0, "bench": 0, "internal/ci/levels": 0} {
		if found := checkFlags(fset, file, dir, false); len(found) != want {
			t.Errorf("%s: %v", dir, found)
		}
	}
	if found := checkFlags(fset, file, "predictions", true); found != nil {
		t.Error("tests:", found)
	}
}
