package internal_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestQuotes holds that code which a page of docs says to be of a file is there: "```go FILE" begins it.
func TestQuotes(t *testing.T) {
	page, err := os.ReadFile("../docs/adding-a-metric.md")
	if err != nil {
		t.Fatal(err)
	}
	l := regexp.MustCompile("(?ms)^```go (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(l) < 5 {
		t.Errorf("%d quotes", len(l))
	}
	for _, m := range l {
		code, err := os.ReadFile("../" + m[1])
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(code), m[2]) {
			t.Errorf("this is not in %s:\n%s", m[1], m[2])
		}
	}
}
