package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/candor-go/candor/internal/check"
)

// jsonSchema is docs/candor-1.schema.json.
var jsonSchema = sync.OnceValues(func() (*check.Schema, error) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "candor-1.schema.json"))
	if err != nil {
		return nil, err
	}
	return check.NewSchema(b)
})

// checkSchema holds what candor prints with --json to the schema: the corpus and the tests below have documents of every task.
func checkSchema(t *testing.T, doc string) {
	t.Helper()
	s, err := jsonSchema()
	if err != nil {
		t.Fatal(err)
	}
	var head struct {
		Schema string
		Error  json.RawMessage
	}
	name := ""
	if strings.HasPrefix(strings.TrimSpace(doc), "{") {
		if err := json.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatal(err)
		}
		if name = map[string]string{"candor/1": "document", "candor-compare/1": "comparison", "candor-recal/1": "recalibration"}[head.Schema]; head.Error != nil {
			name = "error"
		} else if name == "" {
			return // a file of another kind, such as a map
		}
	}
	if err := s.Validate([]byte(doc), name); err != nil {
		t.Errorf("docs/candor-1.schema.json: %v", err)
	}
}

// TestSchema: what the other commands print is as the schema says, and docs/json.md describes every key that the schema has, and no other.
func TestSchema(t *testing.T) {
	d := newDir(t)
	s := newSet(91, 60, 3)
	x, y, state := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.at("x.state")
	evaluate(t, x, "--labels", y, "--state", state)
	for _, args := range [][]string{{"metrics"}, {"metrics", "ece"}, {"inspect", x, y, state}} {
		code, out, errs := candor(t, append(args, "--json")...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		checkSchema(t, out)
	}
	for _, args := range [][]string{{"eval", x, "--json"}, {"eval", d.at("none.npy"), "--json"}, {"eval", x, "--labels", x, "--json"}} {
		code, _, errs := candor(t, args...)
		if code == 0 {
			t.Fatalf("%v is no error", args)
		}
		checkSchema(t, errs)
	}
	schema, err := jsonSchema()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| ((?:`[a-z_0-9]+`(?:, )?)+) \\|").FindAllStringSubmatch(string(page), -1) {
		for _, k := range strings.Split(m[1], ", ") {
			rows = append(rows, strings.Trim(k, "`"))
		}
	}
	keys := schema.Properties()
	for _, k := range keys {
		if !slices.Contains(rows, k) {
			t.Errorf("docs/json.md has no row for %s", k)
		}
	}
	kinds := []string{"gate", "usage", "output", "data", "fault"}
	for _, k := range rows {
		if !slices.Contains(keys, k) && !slices.Contains(kinds, k) {
			t.Errorf("docs/json.md has a row for %s, which is not in the schema", k)
		}
	}
}
