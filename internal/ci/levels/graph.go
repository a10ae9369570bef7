package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	kernelPath = "github.com/candor-go/candor/kernel"
	asmPath    = kernelPath + "/asm"
)

// graph is the package of kernels with its tests: each declaration with its tokens and what it mentions.
type graph struct {
	pkg     *types.Package
	decls   map[types.Object]*decl
	methods map[string][]types.Object // by name, for calls through an interface
}

type decl struct {
	test     bool // declared in a test file
	words    []word
	mentions []types.Object // objects of the package, in order
	asm      []string       // assembly functions that it calls
}

// A word is a token: its text or, for names of the package or the function, the object.
type word struct {
	text string
	obj  types.Object
}

// loadKernels reads and type-checks the package of kernels with its internal tests.
func loadKernels(root string) (*graph, error) {
	list := exec.Command("go", "list", "-test", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles", "./kernel")
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	var dir string
	var names []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles, TestGoFiles    []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.ImportPath == kernelPath {
			dir, names = p.Dir, slices.Concat(p.GoFiles, p.TestGoFiles)
		}
	}
	sources := map[string][]byte{}
	for _, n := range names {
		src, err := os.ReadFile(filepath.Join(dir, n))
		if err != nil {
			return nil, err
		}
		sources[n] = src
	}
	return newGraph(sources, func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}

// newGraph type-checks the package of kernels from the contents of its files, by name. lookup opens the export data of
// imported packages.
func newGraph(sources map[string][]byte, lookup importer.Lookup) (*graph, error) {
	fset := token.NewFileSet()
	names := slices.Sorted(maps.Keys(sources))
	var files []*ast.File
	for _, n := range names {
		f, err := parser.ParseFile(fset, n, sources[n], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	pkg, err := conf.Check(kernelPath, fset, files, info)
	if err != nil {
		return nil, err
	}
	g := &graph{pkg: pkg, decls: map[types.Object]*decl{}, methods: map[string][]types.Object{}}
	for i, f := range files {
		r := &reader{graph: g, info: info, file: fset.File(f.Pos()), src: sources[names[i]], test: strings.HasSuffix(names[i], "_test.go")}
		r.read(f)
	}
	return g, nil
}

// reader collects the declarations of one file.
type reader struct {
	*graph
	info   *types.Info
	file   *token.File
	src    []byte
	test   bool
	idents map[token.Pos]*ast.Ident
}

func (r *reader) read(f *ast.File) {
	r.idents = map[token.Pos]*ast.Ident{}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			r.idents[id.Pos()] = id
		}
		return true
	})
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			obj := r.info.Defs[d.Name]
			r.decls[obj] = r.decl(d)
			if d.Recv != nil {
				r.methods[d.Name.Name] = append(r.methods[d.Name.Name], obj)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					r.decls[r.info.Defs[s.Name]] = r.decl(s)
				case *ast.ValueSpec:
					if d.Tok == token.VAR {
						spec := r.decl(s)
						for _, n := range s.Names {
							r.decls[r.info.Defs[n]] = spec
						}
					}
				}
			}
		}
	}
}

// decl returns the words of a declaration without comments.
func (r *reader) decl(n ast.Node) *decl {
	d := &decl{test: r.test}
	from, to := r.file.Offset(n.Pos()), r.file.Offset(n.End())
	part := token.NewFileSet().AddFile("", -1, to-from)
	var s scanner.Scanner
	s.Init(part, r.src[from:to], nil, 0)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return d
		}
		if tok != token.IDENT {
			if tok.IsOperator() && tok != token.SEMICOLON {
				text = tok.String()
			} else if tok == token.SEMICOLON {
				text = ";"
			}
			d.words = append(d.words, word{text: text})
			continue
		}
		id := r.idents[r.file.Pos(from+part.Offset(pos))]
		obj, defined := r.info.Defs[id]
		if obj == nil {
			obj = r.info.Uses[id]
		}
		d.words = append(d.words, r.word(d, text, obj, defined))
	}
}

// word returns the word of an identifier. Constants are replaced by their values, names of the package are left to closure,
// and names of other packages are kept.
func (r *reader) word(d *decl, text string, obj types.Object, defined bool) word {
	switch o := obj.(type) {
	case nil:
		if defined { // variable of a type switch, whose clauses have objects of their own
			return word{text: "switch"}
		}
		return word{text: text}
	case *types.Const:
		return word{text: o.Type().Underlying().String() + " " + o.Val().ExactString()}
	case *types.PkgName:
		return word{text: o.Imported().Path()}
	case *types.Func:
		obj = o.Origin()
		if o.Pkg() != nil && o.Pkg().Path() == asmPath {
			d.asm = append(d.asm, o.Name())
		}
	case *types.Var:
		obj = o.Origin()
	}
	if obj.Pkg() != r.pkg {
		return word{text: text}
	}
	d.mentions = append(d.mentions, obj)
	return word{obj: obj}
}

// follow returns the declarations to which a mention of an object leads.
func (g *graph) follow(obj types.Object) []types.Object {
	if f, ok := obj.(*types.Func); ok {
		if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			return g.methods[f.Name()]
		}
	}
	if g.decls[obj] == nil {
		return nil // a local name or a field
	}
	return []types.Object{obj}
}

// walk visits the declaration of start and all declarations reachable from it, each once, as far as within allows.
func (g *graph) walk(start types.Object, within func(*decl) bool, visit func(*decl)) {
	seen := map[*decl]bool{}
	for queue := g.follow(start); len(queue) > 0; queue = queue[1:] {
		d := g.decls[queue[0]]
		if seen[d] || !within(d) {
			continue
		}
		seen[d] = true
		visit(d)
		for _, m := range d.mentions {
			queue = append(queue, g.follow(m)...)
		}
	}
}

// hash returns a hash of the words of a declaration and of all that is reachable from it. Names of the package are numbered
// in the order of occurrence, so renaming changes nothing.
func (g *graph) hash(start types.Object, within func(*decl) bool) string {
	h := newHash()
	numbers := map[types.Object]int{}
	g.walk(start, within, func(d *decl) {
		for _, w := range d.words {
			if w.obj == nil {
				h.add(w.text)
				continue
			}
			n, ok := numbers[w.obj]
			if !ok {
				n = len(numbers)
				numbers[w.obj] = n
			}
			h.add("#" + strconv.Itoa(n))
		}
		h.add("end")
	})
	return h.sum()
}

// reach describes how Go code reaches an assembly function.
type reach struct {
	definitions []string // hashes of the exported functions that lead to it, whose code includes its definition
	tests       []test   // tests named TestLevels... that lead to it
}

// reaches returns the reach of each assembly function.
func (g *graph) reaches() map[string]*reach {
	all := map[string]*reach{}
	for obj, d := range g.decls {
		f, ok := obj.(*types.Func)
		if !ok {
			continue
		}
		compares := d.test && f.Signature().Recv() == nil && strings.HasPrefix(f.Name(), "TestLevels")
		if !compares && (d.test || !f.Exported()) {
			continue
		}
		calls := map[string]bool{}
		g.walk(obj, func(*decl) bool { return true }, func(d *decl) {
			for _, name := range d.asm {
				calls[name] = true
			}
		})
		hash := g.hash(obj, func(other *decl) bool { return other.test == d.test })
		for name := range calls {
			r := all[name]
			if r == nil {
				r = &reach{}
				all[name] = r
			}
			if compares {
				r.tests = append(r.tests, test{f.Name(), hash})
			} else {
				r.definitions = append(r.definitions, hash)
			}
		}
	}
	for _, r := range all {
		slices.Sort(r.definitions)
		slices.SortFunc(r.tests, func(a, b test) int { return strings.Compare(a.name, b.name) })
	}
	return all
}

func (r *reach) definition() string {
	h := newHash()
	for _, d := range r.definitions {
		h.add(d)
	}
	return h.sum()
}
