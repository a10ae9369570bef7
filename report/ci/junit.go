package ci

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/candor-go/candor/internal/visible"
)

// JUnit XML as Jenkins describes it in junit-10.xsd, which others read too. Times are 0, so that equal results give equal bytes.
type (
	testSuites struct {
		XMLName  xml.Name    `xml:"testsuites"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Time     string      `xml:"time,attr"`
		Suites   []testSuite `xml:"testsuite"`
	}
	testSuite struct {
		Name       string     `xml:"name,attr"`
		Tests      int        `xml:"tests,attr"`
		Failures   int        `xml:"failures,attr"`
		Errors     int        `xml:"errors,attr"`
		Time       string     `xml:"time,attr"`
		Properties []property `xml:"properties>property"`
		Cases      []testCase `xml:"testcase"`
	}
	property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	testCase struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Time    string   `xml:"time,attr"`
		Failure *failure `xml:"failure"`
		Out     string   `xml:"system-out,omitempty"`
	}
	failure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a test case for each gate, or one that passes if there are none. The metrics of all rows are properties,
// unless they have no value.
func writeJUnit(w io.Writer, r *Result) error {
	class := strings.ReplaceAll(r.Command, " ", ".")
	s := testSuite{Name: r.Command, Tests: max(1, len(r.Gates)), Failures: r.failed(), Time: "0"}
	var verdicts []string
	if r.Says != "" {
		verdicts = append(verdicts, r.Says)
		s.Properties = append(s.Properties, property{"verdict", r.Says})
	}
	for _, set := range r.Sets {
		before, verdict := "", set.Verdict
		if set.Name != "" {
			before, verdict = visible.Text(set.Name)+": ", visible.Text(set.Name)+": "+set.Verdict
		}
		verdicts = append(verdicts, verdict)
		s.Properties = append(s.Properties, property{before + "verdict", set.Verdict}, property{before + "rows", exact(float64(set.Rows))})
		for i := range set.Metrics {
			m := &set.Metrics[i]
			if !math.IsNaN(m.Value.Value) {
				s.Properties = append(s.Properties, property{before + m.Key, exact(m.Value.Value)})
			}
			of := ends(m)
			for _, end := range []string{"low", "high"} {
				if v, ok := of[end]; ok {
					s.Properties = append(s.Properties, property{before + m.Key + "." + end, exact(v)})
				}
			}
		}
	}
	for _, set := range r.Sets {
		before := ""
		if set.Name != "" {
			before = visible.Text(set.Name) + ": "
		}
		for i := range set.Rankings {
			s.Properties = append(s.Properties, set.Rankings[i].properties(before)...)
		}
	}
	for i := range r.Rankings {
		s.Properties = append(s.Properties, r.Rankings[i].properties("")...)
	}
	for i := range r.Deltas {
		d := &r.Deltas[i]
		if math.IsNaN(d.Value.Value) {
			continue
		}
		name := "delta." + d.Key
		if !d.Only {
			name += fmt.Sprintf(" (%s minus %s)", visible.Text(d.B), visible.Text(d.A))
		}
		s.Properties = append(s.Properties, property{name, exact(d.Value.Value)})
		of := ends(&d.Metric)
		for _, end := range []string{"low", "high"} {
			if v, ok := of[end]; ok {
				s.Properties = append(s.Properties, property{name + "." + end, exact(v)})
			}
		}
		if d.Adjusted == d.Adjusted {
			s.Properties = append(s.Properties, property{name + ".p_adjusted", exact(d.Adjusted)})
		}
		if d.Outcome != "" {
			s.Properties = append(s.Properties, property{name + ".outcome", d.Outcome})
		}
	}
	for _, o := range r.Gates {
		c := testCase{Name: visible.Text(asked(o.Gate)), Class: class, Time: "0", Out: visible.Text(o.Text)}
		if o.Failed {
			c.Failure = &failure{visible.Text(o.Text), "gate", strings.Join(append([]string{visible.Text(o.Text)}, verdicts...), "\n")}
		}
		s.Cases = append(s.Cases, c)
	}
	if len(r.Gates) == 0 {
		s.Cases = []testCase{{Name: "verdict", Class: class, Time: "0", Out: strings.Join(verdicts, "\n")}}
	}
	all := testSuites{Name: s.Name, Tests: s.Tests, Failures: s.Failures, Time: s.Time, Suites: []testSuite{s}}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(&all); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}
