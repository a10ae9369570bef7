package eval_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
)

// page is the documentation whose tables are held here: the figures of laws and of up to 1,000 simulated rows always, those of real sets
// where CANDOR_REAL names the folder that has a folder for each. CANDOR_UPDATE=1 go test -run TestWhichOne -timeout 1h ./metrics/eval
// computes those of more rows as well, and writes what differs.
const page = "../../docs/which-one.md"

// A table of the page, by rows and columns that are called what their first cells are.
type table map[string]map[string]string

func (t table) set(row, column, value string) {
	if t[row] == nil {
		t[row] = map[string]string{}
	}
	t[row][column] = value
}

// A law of scores and outcomes, with the mean gap that it has and the root of the mean square of gaps.
type law struct {
	table string
	ece   float64
	rms   float64
	rate  func(p float64) float64 // the frequency of the event at a score
}

// laws have scores that crowd at 1, as a classifier's confidences do: p = 1 - u^2/2, u uniform. One is calibrated, the other claims
// more than it keeps, by 0.3(1-p)(2p-1) = 0.15 u^2(1-u^2): by 0.0375 at most, where p is 3/4, and by 0.02 on average.
var laws = []law{
	{"calibrated", 0, 0, func(p float64) float64 { return p }},
	{"overconfident", 0.02, 0.15 * math.Sqrt(8./315), func(p float64) float64 { return p - float64(0.3*(1-p)*(float64(2*p)-1)) }},
}

func (l law) draw(n int, seed uint64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	p := &metrics.Predictions{Scores: metrics.Scores{F64: make([]float64, n), Rows: n, Classes: 1}, Labels: make([]int32, n)}
	for i := range n {
		u := r.Float64()
		p.F64[i] = 1 - float64(u*u)/2
		if r.Float64() < l.rate(p.F64[i]) {
			p.Labels[i] = 1
		}
	}
	return p
}

// A figure is what the page has of a metric: its mean over many sets, or in how many something holds.
type figure struct {
	row    string
	metric string
	of     func(v eval.Value, l law) float64
	share  bool
}

func plain(v eval.Value, _ law) float64 { return v.Value }
func root(v eval.Value, _ law) float64  { return math.Sqrt(v.Value) }

func rejects(v eval.Value, _ law) float64 { return indicator(v.Value < 0.05) }
func leavesOut0(v eval.Value, _ law) float64 {
	return indicator(v.Interval.Low > 0 || v.Interval.High < 0)
}
func holdsTheECE(v eval.Value, l law) float64 { return holds(v, l.ece) }
func holdsTheRMS(v eval.Value, l law) float64 { return holds(v, l.rms) }

func holds(v eval.Value, x float64) float64 {
	return indicator(v.Interval.Low <= x && x <= v.Interval.High)
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// series are figures, with how many sets are drawn for them and of how many rows at most. What takes long has fewer.
var series = []struct {
	sets, most int
	figures    []figure
}{
	{500, 1e6, []figure{
		{"ece", "ece", plain, false},
		{"ece_floor", "ece_floor", plain, false},
		{"ece_equal_mass", "ece_equal_mass", plain, false},
		{"ece_sweep", "ece_sweep", plain, false},
		{"rmsce_debiased", "rmsce_debiased", plain, false},
		{"ks", "ks", plain, false},
		{"kuiper", "kuiper", plain, false},
		{"mmce", "mmce", plain, false},
		{"overconfidence without 0", "overconfidence", leavesOut0, true},
		{"ks_p < 0.05", "ks_p", rejects, true},
		{"kuiper_p < 0.05", "kuiper_p", rejects, true},
		{"spiegelhalter_p < 0.05", "spiegelhalter_p", rejects, true},
		{"skce_p < 0.05", "skce_p", rejects, true},
		{"ece_p < 0.05", "ece_p", rejects, true},
		{"ece's interval holds the limit", "ece", holdsTheECE, true},
	}},
	{100, 1e6, []figure{
		{"smooth_ece", "smooth_ece", plain, false},
		{"sqrt(corp_mcb)", "corp_mcb(replicates=20)", root, false},
		{"sqrt(corp_mcb_floor)", "corp_mcb_floor(replicates=20)", root, false},
		{"ece_bayes_mean", "ece_bayes_mean(draws=100)", plain, false},
		{"calibration_slope", "calibration_slope", plain, false},
		{"giviti_p < 0.05", "giviti_p", rejects, true},
		{"tcal_p < 0.05", "tcal_p", rejects, true},
	}},
	{20, 1e5, []figure{
		{"spce", "spce", plain, false},
		{"spce's interval holds the limit", "spce", holdsTheRMS, true},
	}},
}

// simulate fills the columns of a number of rows.
func simulate(tables map[string]table, rows int) {
	for _, l := range laws {
		for _, s := range series {
			if rows > s.most {
				continue
			}
			sum := make([]float64, len(s.figures))
			for _, v := range valuesOfSets(l, rows, s.sets, s.figures) {
				for i := range sum {
					sum[i] += v[i]
				}
			}
			for i, f := range s.figures {
				text := fmt.Sprintf("%.5f", sum[i]/float64(s.sets))
				if f.share {
					text = fmt.Sprintf("%.1f%%", 100*sum[i]/float64(s.sets))
				}
				tables[l.table].set(f.row, grouped(rows), text)
			}
		}
	}
}

// valuesOfSets returns the figures of each set, whose numbers are the seeds, from 1 on.
func valuesOfSets(l law, rows, sets int, figures []figure) [][]float64 {
	names := make([]string, len(figures))
	for i, f := range figures {
		names[i] = f.metric
	}
	values := make([][]float64, sets)
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= sets {
					return
				}
				v := evaluate(l.draw(rows, uint64(i+1)), names)
				values[i] = make([]float64, len(figures))
				for j, f := range figures {
					values[i][j] = f.of(v[f.metric], l)
				}
			}
		})
	}
	all.Wait()
	return values
}

// evaluate returns the values of metrics by their spelling. It panics on an error: rows and names are made here.
func evaluate(p *metrics.Predictions, names []string) map[string]eval.Value {
	values, err := evaluateSource(metrics.InMemory(p), p.Classes, 1, names) // with one thread: sets are evaluated side by side
	if err != nil {
		panic(err)
	}
	return values
}

// evaluateSource is evaluate of other rows; threads as in an Evaluation.
func evaluateSource(src metrics.Source, classes, threads int, names []string) (map[string]eval.Value, error) {
	list, err := eval.ParseMetrics(strings.Join(names, ","), eval.Shape{Classes: classes})
	if err != nil {
		return nil, err
	}
	e, err := eval.New(eval.Spec{Classes: classes, Metrics: list})
	if err != nil {
		return nil, err
	}
	e.Threads = threads
	if err := e.AddSource(src, nil); err != nil {
		return nil, err
	}
	values := map[string]eval.Value{}
	for _, m := range list {
		values[m.String()] = e.Value(m)
	}
	return values, nil
}

// grouped writes a number as the page does, with commas.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// A kind is rows with the same probabilities, and what happens to so many of them: one frequency is that of class 1, more are those
// of the classes.
type kind struct {
	rows  int
	probs []float64
	rates []float64
}

// blind are laws without chance: frequencies are exactly what they say.
var blind = []struct {
	column string
	kinds  []kind
}{
	{"A", []kind{{5000, one(0.61), one(0.51)}, {5000, one(0.65), one(0.75)}}},
	{"B", []kind{{5000, one(0.2), one(0.3)}, {5000, one(0.8), one(0.9)}}},
	{"C", []kind{{5000, one(0.6), one(0.7)}, {5000, one(0.9), one(0.8)}}},
	{"D", []kind{{10000, []float64{0.6, 0.3, 0.1}, []float64{0.6, 0.1, 0.3}}}},
	{"E", []kind{{5000, one(0.3), one(0.7)}, {5000, one(0.7), one(0.3)}}},
	{"F", []kind{{5000, one(1), one(0.93)}, {2500, one(0.6), one(0.6)}, {2500, one(0.9), one(0.9)}}},
	{"G", []kind{{9000, one(0.001), one(0.01)}, {1000, one(0.5), one(0.5)}}},
	{"H", []kind{{10000, one(0.3), one(0.3)}}},
	{"I", []kind{{5000, one(0.4), one(0.4)}, {5000, one(0.6), one(0.6)}}},
	{"J", []kind{{5000, one(0.05), one(0.1)}, {5000, one(0.95), one(0.9)}}},
}

func one(p float64) []float64 { return []float64{p} }

// rowsOf returns the rows.
func rowsOf(kinds []kind) *metrics.Predictions {
	p := &metrics.Predictions{}
	p.Classes = len(kinds[0].probs)
	for _, k := range kinds {
		rates := k.rates
		if p.Classes == 1 {
			rates = []float64{1 - k.rates[0], k.rates[0]}
		}
		for class, rate := range rates {
			for range int(math.Round(rate * float64(k.rows))) {
				p.F64 = append(p.F64, k.probs...)
				p.Labels = append(p.Labels, int32(class))
			}
		}
	}
	p.Rows = len(p.Labels)
	return p
}

// blindRows are the figures of a law without chance.
var blindRows = []struct {
	row, metric string
	of          func(eval.Value, law) float64
	format      string
}{
	{"overconfidence", "overconfidence", plain, "%.3f"},
	{"ece", "ece", plain, "%.3f"},
	{"ece_top_label", "ece_top_label", plain, "%.3f"},
	{"ece_equal_mass", "ece_equal_mass", plain, "%.3f"},
	{"sce", "sce", plain, "%.3f"},
	{"smooth_ece", "smooth_ece", plain, "%.3f"},
	{"sqrt(corp_mcb)", "corp_mcb(replicates=20)", root, "%.3f"},
	{"ks", "ks", plain, "%.3f"},
	{"mmce", "mmce", plain, "%.3f"},
	{"spiegelhalter_z", "spiegelhalter_z", plain, "%.1f"},
	{"calibration_slope", "calibration_slope", plain, "%.2f"},
	{"calibration_intercept", "calibration_intercept", plain, "%.2f"},
	{"calibration_auc", "calibration_auc", plain, "%.3f"},
	{"corp_dsc", "corp_dsc(replicates=20)", plain, "%.3f"},
	{"brier", "brier", plain, "%.3f"},
	{"nll", "nll", plain, "%.3f"},
}

func blindTable(t *testing.T) table {
	out := table{}
	for _, b := range blind {
		p := rowsOf(b.kinds)
		if p.Rows != 10000 {
			t.Errorf("%s: %d rows", b.column, p.Rows)
		}
		var names []string
		for _, c := range blindRows {
			if _, err := eval.ParseMetrics(c.metric, eval.Shape{Classes: p.Classes}); err == nil { // ece_top_label is for two classes
				names = append(names, c.metric)
			}
		}
		values := evaluate(p, names)
		for _, c := range blindRows {
			x := math.NaN()
			if v, ok := values[c.metric]; ok {
				x = c.of(v, law{})
			}
			out.set(c.row, b.column, cell(c.format, x))
		}
	}
	return out
}

// fill returns the page with the cells of its tables, each of which follows a comment with its name, replaced by those that are
// given; differ is told of each that was another. Cells that nothing is given for stay, and rows and columns that are not there are told
// too.
func fill(text string, tables map[string]table, differ func(format string, a ...any)) string {
	lines := strings.Split(text, "\n")
	for name, cells := range tables {
		at := 0
		for at < len(lines) && lines[at] != "<!-- table: "+name+" -->" {
			at++
		}
		for at < len(lines) && !strings.HasPrefix(lines[at], "|") {
			at++
		}
		if at == len(lines) {
			differ("the page has no table %s", name)
			continue
		}
		columns := split(lines[at])
		seen := map[string]bool{}
		for at += 2; at < len(lines) && strings.HasPrefix(lines[at], "|"); at++ {
			row := split(lines[at])
			have := cells[row[0]]
			seen[row[0]] = have != nil
			wrote := 0
			for i, c := range columns {
				if v, ok := have[c]; ok {
					if row[i] != v {
						differ("%s, %s, %s: the page says %s, it is %s", name, row[0], c, row[i], v)
					}
					row[i] = v
					wrote++
				}
			}
			if wrote < len(have) {
				differ("%s, %s: the page has %d of %d columns", name, row[0], wrote, len(have))
			}
			lines[at] = "| " + strings.Join(row, " | ") + " |"
		}
		for row := range cells {
			if !seen[row] {
				differ("%s: the page has no row %s", name, row)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// split returns the cells of a line of a table.
func split(line string) []string {
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// sets are the folders of real sets, by the table and column of the page that they are in.
var sets = []struct{ table, column, folder string }{
	{"binary", "X01", "SYNTHETIC_triptych_X01"},
	{"binary", "X05", "SYNTHETIC_triptych_X05"},
	{"binary", "Niamey ENS", "niamey_ens"},
	{"binary", "Niamey EPC", "niamey_epc"},
	{"binary", "in-game", "fte_march_madness_in_game"},
	{"classes", "ResNet-50", "cl_c10_resnet50_cv50k"},
	{"classes", "13 ResNets", "cl_c10_resnet50_all13_650k"},
	{"classes", "20news", "labelerr_20news"},
	{"classes", "WRN-16-4", "netcal_c10_wrn16_4"},
	{"classes", "DenseNet", "netcal_c100_densenet_bc100"},
	{"classes", "soccer", "fte_club_soccer_3way"},
}

// setRows are the figures of a real set.
var setRows = []struct {
	row, metric string
	of          func(eval.Value, law) float64
	format      string
	interval    bool
}{
	{"accuracy", "accuracy", plain, "%.3f", false},
	{"overconfidence", "overconfidence", plain, "%.3f", true},
	{"nll", "nll", plain, "%.3f", false},
	{"brier", "brier", plain, "%.4f", false},
	{"ece", "ece", plain, "%.4f", true},
	{"ece_floor", "ece_floor", plain, "%.4f", false},
	{"ece(bins=100)", "ece(bins=100)", plain, "%.4f", false},
	{"ece_equal_mass", "ece_equal_mass", plain, "%.4f", false},
	{"ece_sweep", "ece_sweep", plain, "%.4f", false},
	{"smooth_ece", "smooth_ece", plain, "%.4f", false},
	{"ece_bayes_mean", "ece_bayes_mean", plain, "%.4f", false},
	{"ks", "ks", plain, "%.4f", false},
	{"kuiper", "kuiper", plain, "%.4f", false},
	{"mmce", "mmce", plain, "%.4f", false},
	{"skce", "skce", plain, "%.6f", true},
	{"rmsce", "rmsce", plain, "%.4f", false},
	{"rmsce_debiased", "rmsce_debiased", plain, "%.4f", false},
	{"spce", "spce", plain, "%.4f", true},
	{"sqrt(corp_mcb)", "corp_mcb", root, "%.4f", false},
	{"sqrt(corp_mcb_floor)", "corp_mcb_floor", root, "%.4f", false},
	{"corp_dsc", "corp_dsc", plain, "%.4f", false},
	{"mce", "mce", plain, "%.3f", true},
	{"sce", "sce", plain, "%.4f", false},
	{"spiegelhalter_z", "spiegelhalter_z", plain, "%.1f", false},
	{"ece_p", "ece_p", plain, "%.2g", false},
	{"ks_p", "ks_p", plain, "%.2g", false},
	{"skce_p", "skce_p", plain, "%.2g", false},
	{"tcal_p", "tcal_p", plain, "%.2g", false},
	{"giviti_p", "giviti_p", plain, "%.2g", false},
	{"giviti_degree", "giviti_degree", plain, "%.0f", false},
	{"calibration_slope", "calibration_slope", plain, "%.2f", true},
	{"calibration_intercept", "calibration_intercept", plain, "%.2f", true},
	{"calibration_auc", "calibration_auc", plain, "%.3f", false},
	{"aurc", "aurc", plain, "%.4f", false},
}

// setTables evaluates the real sets of a folder.
func setTables(t *testing.T, dir string) map[string]table {
	var names []string
	for _, r := range setRows {
		names = append(names, r.metric)
	}
	tables := map[string]table{"binary": {}, "classes": {}}
	for _, s := range sets {
		r, err := predictions.Open([]string{filepath.Join(dir, s.folder, "probs.npy")},
			&predictions.Options{Labels: []string{filepath.Join(dir, s.folder, "labels.npy")}})
		if err != nil {
			t.Fatal(err)
		}
		values, err := evaluateSource(r, r.Info().Classes, 0, names)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		tables[s.table].set("rows", s.column, grouped(int(r.Info().Rows)))
		for _, f := range setRows {
			v := values[f.metric]
			text := cell(f.format, f.of(v, law{}))
			if f.interval {
				text += " [" + cell(f.format, v.Interval.Low) + ", " + cell(f.format, v.Interval.High) + "]"
			}
			tables[s.table].set(f.row, s.column, text)
		}
	}
	return tables
}

// cell writes a number of a table.
func cell(format string, x float64) string {
	switch text := fmt.Sprintf(format, x); {
	case math.IsNaN(x):
		return "-"
	case math.IsInf(x, 1):
		return "inf"
	case strings.HasSuffix(format, "g") && x < 1e-9:
		return "< 1e-9" // a p-value
	case strings.Trim(text, "-0.") == "":
		return "0" // whether rounding left a little of it or not
	default:
		return text
	}
}

// hold compares the page's tables with these, or writes them.
func hold(t *testing.T, tables map[string]table) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("CANDOR_UPDATE") == "" {
		fill(string(text), tables, t.Errorf)
	} else if err := os.WriteFile(page, []byte(fill(string(text), tables, t.Logf)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestWhichOne recomputes the page's figures of laws and of simulated sets: of those of 100 rows, and of 1,000 if nothing is left out.
func TestWhichOne(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it simulates thousands of sets")
	}
	tables := map[string]table{"calibrated": {}, "overconfident": {}, "blind": blindTable(t)}
	simulate(tables, 100)
	if check.Full() || os.Getenv("CANDOR_UPDATE") != "" {
		simulate(tables, 1000)
	}
	if os.Getenv("CANDOR_UPDATE") != "" {
		for _, rows := range []int{10000, 100000, 1000000} {
			simulate(tables, rows)
		}
	}
	hold(t, tables)
}

// TestWhichOneRealSets recomputes its figures of real sets.
func TestWhichOneRealSets(t *testing.T) {
	dir := os.Getenv("CANDOR_REAL")
	if dir == "" {
		// They are not ours to distribute. Where CI finds them it fails if this skips.
		t.Skip("CANDOR_REAL is not set: the real sets are not part of the repository")
	}
	hold(t, setTables(t, dir))
}
