package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics/conformal"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/recal"
)

// namesInCode are names between backticks, without their options.
var namesInCode = regexp.MustCompile("`([A-Za-z0-9_-]+)(?:\\([^`]*\\))?`")

// mentioned returns the names in a text: of `energy_score`, `_fair` in one line, energy_score_fair too, and of `corp_mcb`, `_dsc` corp_dsc.
func mentioned(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(text) {
		var whole []string
		for _, m := range namesInCode.FindAllStringSubmatch(line, -1) {
			name := m[1]
			all[name] = true
			if !strings.HasPrefix(name, "_") {
				whole = append(whole, name)
				continue
			}
			for _, w := range whole {
				all[w+name] = true
				for i := range w {
					if w[i] == '_' {
						all[w[:i]+name] = true
					}
				}
			}
		}
	}
	return all
}

// TestWhichOneNames: docs/which-one.md says of every metric of these families, and of every method of recalibration and of conformal prediction, what
// it sees and what it does not.
func TestWhichOneNames(t *testing.T) {
	text, err := os.ReadFile("../../docs/which-one.md")
	if err != nil {
		t.Fatal(err)
	}
	names := mentioned(string(text))
	families := []string{"Calibration over bins", "Calibration without bins", "Acting on a model", "Scores of forecasts", "Calibration of forecasts", "Multivariate forecasts", "Survival", "Slices"}
	tested := 0
	for _, d := range eval.Descriptors() {
		if !slices.Contains(families, d.Family()) {
			continue
		}
		tested++
		if !names[d.Name] {
			t.Errorf("which-one.md does not mention %s", d.Name)
		}
	}
	for _, d := range recal.Descriptors() {
		tested++
		if !names[d.Name] {
			t.Errorf("which-one.md does not mention the method %s", d.Name)
		}
	}
	for _, d := range conformal.Descriptors() {
		tested++
		if !names[d.Name] {
			t.Errorf("which-one.md does not mention the conformal method %s", d.Name)
		}
	}
	if tested < 100 {
		t.Errorf("%d names were tested", tested)
	}
}
