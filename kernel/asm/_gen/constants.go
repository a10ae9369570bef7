package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// constants are the definitions of a level's constants by their names. They stand in one header, which every file includes:
// a file's own copies of those that it does not read are dropped by the linker.
type constants map[string]string

// headerOf returns the name of the header.
func headerOf(arch string) string { return "constants_" + arch + ".h" }

var definition = regexp.MustCompile(`\n(?:DATA (\w+)<>.*\n)+GLOBL \w+<>.*\$(\d+)\n`)

// take takes the definitions out of a file for amd64 and makes it include the header. One that another file has in another size gets
// a name with its size. For arm64 a file has one table of its constants, in the order in which they are read.
func (c constants) take(text, arch string) string {
	if arch != "amd64" {
		return text
	}
	sized := map[string]string{}
	found := false
	text = definition.ReplaceAllStringFunc(text, func(def string) string {
		m := definition.FindStringSubmatch(def)
		name := m[1]
		found = true
		if other, ok := c[name]; ok && other != def {
			sized[name] = name + "_" + m[2]
			def = strings.ReplaceAll(def, " "+name+"<>", " "+sized[name]+"<>")
			name = sized[name]
			if other, ok := c[name]; ok && other != def {
				panic("two constants are called " + name)
			}
		}
		c[name] = def
		return ""
	})
	if !found {
		return text
	}
	for name, new := range sized {
		text = regexp.MustCompile(`\b`+name+`<>`).ReplaceAllString(text, new+"<>")
	}
	return strings.Replace(text, "#include \"textflag.h\"\n", "#include \"textflag.h\"\n#include \""+headerOf(arch)+"\"\n", 1)
}

// header returns the header.
func (c constants) header() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n// The constants of all files.\n", generated)
	for _, name := range slices.Sorted(maps.Keys(c)) {
		b.WriteString(c[name])
	}
	return b.String()
}
