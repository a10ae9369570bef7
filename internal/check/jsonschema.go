package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Schema is a JSON Schema of the keywords type, properties, required, additionalProperties, items, enum, const, minimum, pattern, anyOf
// and local $ref. Others, but for what only describes, are an error.
type Schema struct {
	root map[string]any
	Seen map[string]bool // the names of properties that some valid text had
}

// NewSchema reads a schema.
func NewSchema(text []byte) (*Schema, error) {
	s := &Schema{Seen: map[string]bool{}}
	return s, json.Unmarshal(text, &s.root)
}

// Properties returns the names of all properties of the schema.
func (s *Schema) Properties() []string {
	all := map[string]bool{}
	var walk func(v any)
	walk = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			if p, ok := x["properties"].(map[string]any); ok {
				for name := range p {
					all[name] = true
				}
			}
			for _, k := range x {
				walk(k)
			}
		case []any:
			for _, k := range x {
				walk(k)
			}
		}
	}
	walk(s.root)
	return slices.Sorted(maps.Keys(all))
}

// Validate returns an error that names the first place of a JSON text that is not as the schema, or its definition of that name, says.
func (s *Schema) Validate(text []byte, definition string) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	rule := s.root
	if definition != "" {
		rule = s.root["$defs"].(map[string]any)[definition].(map[string]any)
	}
	return s.valid(rule, v, definition)
}

func (s *Schema) valid(rule map[string]any, v any, at string) error {
	for _, word := range slices.Sorted(maps.Keys(rule)) {
		if err := s.keyword(rule, word, rule[word], v, at); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) keyword(rule map[string]any, word string, arg, v any, at string) error {
	object, _ := v.(map[string]any)
	switch word {
	case "$schema", "$id", "$defs", "title", "description":
	case "$ref":
		name, ok := strings.CutPrefix(arg.(string), "#/$defs/")
		to, found := s.root["$defs"].(map[string]any)[name].(map[string]any)
		if !ok || !found {
			return fmt.Errorf("the schema refers to %v, which it has not", arg)
		}
		return s.valid(to, v, at)
	case "type":
		kinds, many := arg.([]any)
		if !many {
			kinds = []any{arg}
		}
		if !slices.ContainsFunc(kinds, func(k any) bool { return isOf(k.(string), v) }) {
			return fmt.Errorf("%s is %v, and has to be of type %v", at, v, arg)
		}
	case "properties":
		for name, r := range arg.(map[string]any) {
			if child, ok := object[name]; ok {
				s.Seen[name] = true
				if err := s.valid(r.(map[string]any), child, at+"."+name); err != nil {
					return err
				}
			}
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, ok := object[name.(string)]; object != nil && !ok {
				return fmt.Errorf("%s has no %v", at, name)
			}
		}
	case "additionalProperties":
		known, _ := rule["properties"].(map[string]any)
		for name, child := range object {
			if _, ok := known[name]; ok {
				continue
			}
			r, ok := arg.(map[string]any)
			if !ok {
				if arg == false {
					return fmt.Errorf("%s has %s, which the schema has not", at, name)
				}
				continue
			}
			if err := s.valid(r, child, at+"."+name); err != nil {
				return err
			}
		}
	case "items":
		list, _ := v.([]any)
		for i, child := range list {
			if err := s.valid(arg.(map[string]any), child, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "enum":
		if !slices.ContainsFunc(arg.([]any), func(a any) bool { return reflect.DeepEqual(a, v) }) {
			return fmt.Errorf("%s is %v, and has to be one of %v", at, v, arg)
		}
	case "const":
		if !reflect.DeepEqual(arg, v) {
			return fmt.Errorf("%s is %v, and has to be %v", at, v, arg)
		}
	case "minimum":
		if n, ok := v.(float64); ok && n < arg.(float64) {
			return fmt.Errorf("%s is %v, below %v", at, v, arg)
		}
	case "pattern":
		if text, ok := v.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(text) {
			return fmt.Errorf("%s is %q, which does not match %v", at, text, arg)
		}
	case "anyOf":
		var all []string
		for _, r := range arg.([]any) {
			err := s.valid(r.(map[string]any), v, at)
			if err == nil {
				return nil
			}
			all = append(all, err.Error())
		}
		return fmt.Errorf("%s", strings.Join(all, "; "))
	default:
		return fmt.Errorf("the schema has the keyword %s, which is not known here", word)
	}
	return nil
}

// isOf tells whether a JSON value is of a type.
func isOf(kind string, v any) bool {
	switch x := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	case float64:
		return kind == "number" || kind == "integer" && x == math.Trunc(x)
	}
	return false
}
