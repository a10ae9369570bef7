package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// team is the predictions of an ensemble for the same rows, and their files in every layout.
type team struct {
	*set
	members [][]float64 // probabilities, row-major
}

func newTeam(seed uint64, rows, classes, members int) *team {
	m := &team{set: newSet(seed, rows, classes)}
	for i := range members {
		m.members = append(m.members, newSet(seed+uint64(i)*1000, rows, classes).probs)
	}
	return m
}

// files are the same ensemble as one file a member, as (M, N, K) and as (N, M, K), each with the flags that it takes.
func (m *team) files(t *testing.T, d *dir) [][]string {
	n, k, count := m.rows, m.classes, len(m.members)
	var first, second []float64
	var each []string
	for i, p := range m.members {
		first = append(first, p...)
		each = append(each, d.put(fmt.Sprintf("member-%d.npy", i), npy(t, []int64{int64(n), int64(k)}, f32(p))))
	}
	for r := range n {
		for _, p := range m.members {
			second = append(second, p[r*k:(r+1)*k]...)
		}
	}
	labels := d.put("labels.npy", m.labelFile(t))
	with := func(args ...string) []string { return append(args, "--task", "ensemble", "--labels", labels) }
	return [][]string{
		with(each...),
		with(d.put("mnk.npy", npy(t, []int64{int64(count), int64(n), int64(k)}, f32(first)))),
		with(d.put("nmk.npy", npy(t, []int64{int64(n), int64(count), int64(k)}, f32(second))), "--member-axis", "1"),
	}
}

func TestEnsembleLayoutsAreOneDocument(t *testing.T) {
	d := newDir(t)
	m := newTeam(7, 301, 3, 4)
	want := ""
	for i, args := range m.files(t, d) {
		for _, threads := range []string{"1", "3"} {
			code, out, errs := candor(t, append(append([]string{"eval", "--json", "--metrics", quick(3)}, args...), "--threads", threads)...)
			if code != 0 {
				t.Fatalf("layout %d: exit code %d: %s", i, code, errs)
			}
			if want == "" {
				want = out
			} else if out != want {
				t.Errorf("layout %d with %s threads: another document\n%s\nthan\n%s", i, threads, out, want)
			}
		}
	}
	// Member by member it is what each file is by itself.
	doc := evaluate(t, append(m.files(t, d)[0], "--metrics", "default,ensemble_nll,gibbs_nll,total_uncertainty,data_uncertainty")...)
	if doc.Input.Members != 4 || len(doc.Members) != 4 {
		t.Fatalf("%d members, %d of them listed", doc.Input.Members, len(doc.Members))
	}
	gibbs := 0.0
	for i := range m.members {
		one := evaluate(t, d.at(fmt.Sprintf("member-%d.npy", i)), "--labels", d.at("labels.npy"))
		for _, key := range []string{"accuracy", "nll", "brier", "ece"} {
			if got, want := doc.Members[i][key].Value, one.Metrics[key].Value; got != want {
				t.Errorf("%s of member %d is %v, by itself %v", key, i, got, want)
			}
		}
		gibbs += one.value(t, "nll") / 4
	}
	if got := doc.value(t, "gibbs_nll"); math.Abs(got-gibbs) > 1e-12 {
		t.Errorf("gibbs_nll is %v, the mean of the members' NLL %v", got, gibbs)
	}
	if e, nll := doc.value(t, "ensemble_nll"), doc.value(t, "nll"); math.Abs(e-nll) > 1e-6 || e > gibbs {
		t.Errorf("ensemble_nll is %v, nll of the mean %v, gibbs_nll %v", e, nll, gibbs)
	}
	if mi, total, data := doc.value(t, "mutual_information"), doc.value(t, "total_uncertainty"), doc.value(t, "data_uncertainty"); math.Abs(mi-(total-data)) > 1e-6 || mi <= 0 {
		t.Errorf("mutual information %v of %v less %v", mi, total, data)
	}
}

// TestBadMember: a row that cannot be used is named with its member, or that one's file, and the labels beside it.
func TestBadMember(t *testing.T) {
	d, m := newDir(t), newTeam(11, 30, 3, 3)
	m.members[1][5*3+2], m.members[2][7*3] = math.NaN(), math.NaN()
	for i, args := range m.files(t, d) {
		want := []string{"member-1.npy: row 5, column 2: score is NaN", "mnk.npy: member 1: row 5, column 2: score is NaN",
			"nmk.npy: member 1: row 5, column 2: score is NaN"}[i]
		code, _, errs := candor(t, append([]string{"eval"}, args...)...)
		if code != 3 || !strings.Contains(errs, want) || !strings.Contains(errs, "(other members with bad rows: 1)") ||
			strings.Contains(errs, "counted over all") {
			t.Errorf("exit code %d: %s\ndoes not say %s", code, errs, want)
		}
	}
	m.labels[9] = 7
	for _, args := range m.files(t, d) {
		_, _, errs := candor(t, append([]string{"eval"}, args...)...)
		if !strings.Contains(errs, "labels.npy: row 9: label is 7") || !strings.Contains(errs, "row 5, column 2: score is NaN") {
			t.Errorf("not of both: %s", errs)
		}
	}
}

// TestCompareEnsembles: a set is one array of all members, whichever axis they stand on.
func TestCompareEnsembles(t *testing.T) {
	d := newDir(t)
	all := newTeam(13, 40, 3, 2).files(t, d)
	a, b := d.at("nmk.npy"), d.put("again.npy", d.read(d.at("nmk.npy")))
	code, out, errs := candor(t, append([]string{"compare", a, b}, all[2][1:]...)...)
	if code != 0 || !strings.Contains(out, "3 classes, 2 members") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestMembersTable: the ensemble has a line in the table of members if it was asked for what that shows.
func TestMembersTable(t *testing.T) {
	d := newDir(t)
	args := newTeam(12, 40, 3, 2).files(t, d)[1]
	for list, want := range map[string]bool{"mutual_information": false, "nll": true, "default": true} {
		_, out, _ := candor(t, append([]string{"eval", "--metrics", list}, args...)...)
		if got := strings.Contains(out, "\n ensemble"); got != want || !strings.Contains(out, "\n member 1") {
			t.Errorf("%s: a line of the ensemble is %v\n%s", list, got, out)
		}
	}
}

func TestEnsembleShardsMerge(t *testing.T) {
	d := newDir(t)
	whole := newTeam(8, 240, 4, 3)
	list := quick(4) + ",mutual_information,average_kl,double_fault(conditional)"
	var want string
	var states []string
	for i, part := range [][2]int{{0, 240}, {0, 100}, {100, 240}} {
		s := &team{set: whole.part(part[0], part[1])}
		for _, p := range whole.members {
			s.members = append(s.members, p[part[0]*4:part[1]*4])
		}
		to := newDir(t)
		state := d.at(fmt.Sprintf("%d.state", i))
		code, out, errs := candor(t, append([]string{"eval", "--json", "--metrics", list, "--state", state}, s.files(t, to)[i]...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		if i == 0 {
			want = out
			continue
		}
		states = append(states, state)
	}
	for range 2 {
		code, got, errs := candor(t, append([]string{"merge", "--json"}, states...)...)
		if code != 0 || got != want {
			t.Errorf("exit code %d: %s\nmerged\n%s\nwant\n%s", code, errs, got, want)
		}
		slices.Reverse(states)
	}
}

// draws makes n rows of m normal samples, and what is observed.
func draws(seed uint64, n, m int) (samples, observed []float64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		centre := r.NormFloat64() * 3
		for range m {
			samples = append(samples, centre+r.NormFloat64())
		}
		observed = append(observed, centre+r.NormFloat64())
	}
	return samples, observed
}

func TestSamples(t *testing.T) {
	d := newDir(t)
	const n, m = 157, 9
	x, y := draws(3, n, m)
	fair, v := 0.0, 0.0
	for i := range n {
		row := x[i*m : (i+1)*m]
		far, pairs := 0.0, 0.0
		for _, a := range row {
			far += math.Abs(a - y[i])
			for _, b := range row {
				pairs += math.Abs(a - b)
			}
		}
		v += (far/m - pairs/(2*m*m)) / n
		fair += (far/m - pairs/(2*m*(m-1))) / n
	}
	px, py := d.put("x.npy", npy(t, []int64{n, m}, x)), d.put("y.npy", npy(t, []int64{n}, y))
	doc := evaluate(t, px, "--labels", py, "--task", "samples", "--metrics", "all", "--state", d.at("all.state"))
	if got := doc.value(t, "crps"); math.Abs(got-v) > 1e-12 {
		t.Errorf("crps is %v, want %v", got, v)
	}
	for _, key := range []string{"crps_fair", "crps_pwm"} {
		if got := doc.value(t, key); math.Abs(got-fair) > 1e-12 {
			t.Errorf("%s is %v, want %v", key, got, fair)
		}
	}
	if !strings.HasPrefix(doc.Verdict, "157 rows x 9 samples. Off by ") || len(doc.Bins) > 0 || doc.Input.Kind != "samples" {
		t.Errorf("verdict %q, %d bins, kind %s", doc.Verdict, len(doc.Bins), doc.Input.Kind)
	}
	var parts []string
	for i, cut := range [][2]int{{0, 60}, {60, n}} {
		a := d.put(fmt.Sprintf("x%d.npy", i), npy(t, []int64{int64(cut[1] - cut[0]), m}, x[cut[0]*m:cut[1]*m]))
		b := d.put(fmt.Sprintf("y%d.npy", i), npy(t, []int64{int64(cut[1] - cut[0])}, y[cut[0]:cut[1]]))
		parts = append(parts, d.at(fmt.Sprintf("%d.state", i)))
		evaluate(t, a, "--labels", b, "--task", "samples", "--metrics", "all", "--state", parts[i], "--first-row", fmt.Sprint(cut[0]))
	}
	code, got, errs := candor(t, "merge", "--json", parts[1], parts[0])
	if _, want, _ := candor(t, "merge", "--json", d.at("all.state")); code != 0 || got != want {
		t.Errorf("exit code %d: %s\nmerged\n%s\nwant\n%s", code, errs, got, want)
	}
	table := text(t, "eval", px, "--labels", py, "--task", "samples")
	if strings.Contains(table, "Reliability") || !strings.Contains(table, "crps_fair") {
		t.Errorf("the table is\n%s", table)
	}
}

func TestLogLikelihoods(t *testing.T) {
	d := newDir(t)
	l := make([]float64, 40*25)
	r := rand.New(rand.NewPCG(4, 4))
	for i := range l {
		l[i] = -1 - r.Float64()
	}
	x := d.put("l.npy", npy(t, []int64{40, 25}, l))
	doc := evaluate(t, x, "--task", "loglik", "--metrics", "all")
	for _, key := range []string{"lppd", "nwaic1", "nwaic2", "iscv", "psis_loo"} {
		if v := doc.value(t, key); !(v > -2 && v < -1) {
			t.Errorf("%s is %v", key, v)
		}
	}
	if !strings.HasPrefix(doc.Verdict, "40 rows x 25 draws. The log-likelihood of a new row is about -1.") {
		t.Errorf("verdict %q", doc.Verdict)
	}
	if n, k := doc.value(t, "high_variance_rows"), doc.value(t, "pareto_k_max"); n != 0 || math.IsNaN(k) {
		t.Errorf("%v rows of a high variance, Pareto shapes up to %v", n, k)
	}
	if a, b := doc.value(t, "nwaic1"), evaluate(t, x, "--task", "loglik", "--metrics", "nwaic1(as_coded)").value(t, "nwaic1(as_coded)"); a >= b {
		t.Errorf("nwaic1 is %v and as coded, with the smaller variance, %v", a, b)
	}
}

func TestDirichletInput(t *testing.T) {
	d := newDir(t)
	s := newSet(9, 200, 3)
	alpha := make([]float64, len(s.probs))
	for i, p := range s.probs {
		alpha[i] = 0.5 + 20*p
	}
	x, y := d.put("a.npy", npy(t, s.shape(), alpha)), d.put("y.npy", s.labelFile(t))
	mean := make([]float64, len(alpha))
	for i := range s.rows {
		sum := alpha[3*i] + alpha[3*i+1] + alpha[3*i+2]
		for k := range 3 {
			mean[3*i+k] = alpha[3*i+k] / sum
		}
	}
	doc := evaluate(t, x, "--labels", y, "--input", "dirichlet", "--metrics", "default,total_uncertainty,data_uncertainty")
	plain := evaluate(t, d.put("p.npy", npy(t, s.shape(), mean)), "--labels", y, "--metrics", "default,entropy")
	for _, key := range []string{"accuracy", "nll", "brier", "ece", "augrc"} {
		if got, want := doc.value(t, key), plain.value(t, key); math.Abs(got-want) > 1e-13 {
			t.Errorf("%s is %v, of the means %v", key, got, want)
		}
	}
	know, total, data := doc.value(t, "knowledge_uncertainty"), doc.value(t, "total_uncertainty"), doc.value(t, "data_uncertainty")
	if math.Abs(know-(total-data)) > 1e-13 || know <= 0 || math.Abs(total-plain.value(t, "entropy")) > 1e-13 {
		t.Errorf("knowledge %v, total %v, data %v, entropy of the means %v", know, total, data, plain.value(t, "entropy"))
	}
}

func TestOutOfDistribution(t *testing.T) {
	d := newDir(t)
	in, away := newSet(10, 500, 4), newSet(11, 300, 4)
	for i, p := range away.probs { // less sure of everything
		away.probs[i] = 0.5*p + 0.125
	}
	x, y, o := d.put("x.npy", in.scores(t)), d.put("y.npy", in.labelFile(t)), d.put("o.npy", away.scores(t))
	doc := evaluate(t, x, "--labels", y, "--ood", o, "--metrics", "default,ood_auroc(score=entropy),ood_auprc_in,ood_auprc_out,ood_auroc(score=energy)")
	// Against all pairs of top probabilities, which are those of float32.
	top := func(s *set, i int) float32 { return float32(slices.Max(s.probs[i*4 : i*4+4])) }
	wins := 0.0
	for i := range in.rows {
		for k := range away.rows {
			switch a, b := top(in, i), top(away, k); {
			case a > b:
				wins++
			case a == b:
				wins += 0.5
			}
		}
	}
	if got, want := doc.value(t, "ood_auroc"), wins/(500*300); math.Abs(got-want) > 1e-12 {
		t.Errorf("ood_auroc is %v, want %v", got, want)
	}
	if doc.Input.Out != 300 {
		t.Errorf("%d rows out of distribution", doc.Input.Out)
	}
	if m := doc.Metrics["ood_auroc(score=energy)"]; m.Value != nil || !strings.Contains(m.Reason, "logit") {
		t.Errorf("energy of probabilities is %v: %q", m.Value, m.Reason)
	}
	for _, kind := range []string{"risk-coverage", "rejection", "confidence", "roc", "ood-roc"} {
		svg := d.at(kind + ".svg")
		if code, _, errs := candor(t, "eval", x, "--labels", y, "--ood", o, "--plot", svg, "--plot-kind", kind); code != 0 {
			t.Errorf("%s: exit code %d: %s", kind, code, errs)
		} else if b := d.read(svg); !strings.Contains(string(b), "<svg") {
			t.Errorf("%s: no picture", kind)
		}
	}
	if code, _, errs := candor(t, "eval", x, "--labels", y, "--plot", d.at("alone.svg"), "--plot-kind", "rejection"); code != exitUsage || !strings.Contains(errs, "give --ood FILE") {
		t.Errorf("rejection without other rows: exit code %d: %s", code, errs)
	}
	for _, kind := range []string{"risk-coverage", "confidence", "roc"} {
		if code, _, errs := candor(t, "eval", x, "--labels", y, "--plot", d.at("alone.svg"), "--plot-kind", kind); code != 0 {
			t.Errorf("%s without other rows: exit code %d: %s", kind, code, errs)
		}
	}
	// The state has both sets, and shards of each merge.
	state := d.at("s.state")
	_, want, _ := candor(t, "eval", "--json", x, "--labels", y, "--ood", o, "--state", state)
	if code, got, errs := candor(t, "merge", "--json", state); code != 0 || got != want {
		t.Errorf("exit code %d: %s\nread back\n%s\nwant\n%s", code, errs, got, want)
	}
}

// shapes are lists of metrics of what is not classes of one model alone, each that takes options with some.
var shapes = []struct {
	eval.Shape
	metrics string
}{
	{eval.Shape{Classes: 3, Out: true}, "default,ood_auroc(score=entropy),ood_auroc(score=dempster_shafer),ood_auprc_in(area=trapezoid),ood_auprc_out(area=davis_goadrich)," +
		"ood_auprc_in,ood_fpr95(found=0.8),ood_fpr95(score=max_logit)"},
	{eval.Shape{Classes: 3, Members: 4}, "default,disagreement(normalised),double_fault,double_fault(conditional),average_kl,average_kl(all_pairs,clip),average_kl(generalized)," +
		"lp_distance(p=2),lp_distance,logit_kl,cosine_similarity,bregman_kl_variance,variance_bound,ensemble_nll,gibbs_nll,total_uncertainty,data_uncertainty"},
	{eval.Shape{Classes: 3, Kind: metrics.Dirichlet}, "default,total_uncertainty,data_uncertainty,spherical"},
	{eval.Shape{Classes: 8, Kind: metrics.Samples}, "all,coverage(level=0.8),width(level=0.8),interval_score(level=0.5),interval_score_underprediction(level=0.5),interval_score_overprediction(level=0.8),interval_score_mcb(level=0.8),interval_score_dsc(end=low),interval_score_unc(end=high),twcrps(from=-0.5,to=1),twcrps(fair,to=0),qwcrps(emphasis=centre),pinball(level=0.25),miscalibration_area(form=plain)," +
		"miscalibration_area(bins=8,form=interval),quantile_mse(bins=4),rms_calibration,rms_calibration(form=quantile,bins=8),wis(count_median_twice),wis_dispersion(count_median_twice),wis_underprediction(count_median_twice),wis_overprediction(count_median_twice),pit_p(bins=4),rank_p(bins=3)"},
	{eval.Shape{Classes: 3, Kind: metrics.Normals}, "all,ence(bins=4),uce(bins=4),sigma_scale(as_coded)"},
	{eval.Shape{Classes: 1, Kind: metrics.Samples}, "all"},
	{eval.Shape{Classes: 8, Kind: metrics.LogLiks}, "all,nwaic1(as_coded),nwaic2(as_coded),iscv(as_coded),p_waic(as_coded),psis_loo(r_eff=0.5),p_loo(r_eff=0.5),pareto_k_max(r_eff=0.5)"},
	{eval.Shape{Classes: 1, Kind: metrics.LogLiks}, "all,nwaic1(as_coded)"},
	{eval.Shape{Classes: 12, Kind: metrics.Multivariate}, "all,variogram_score(order=1.5,weights=inverse_distance),multivariate_rank_p(ranking=band_depth),multivariate_rank_p(bins=2,ranking=dominance)"},
	{eval.Shape{Classes: 6, Kind: metrics.Multivariate}, "all"},
	{eval.Shape{Classes: 8, Kind: metrics.MultivariateNormals}, "all"},
	{eval.Shape{Classes: 14, Kind: metrics.Survival}, "all,mean_risk(horizon=3),event_share_km(horizon=3),bias_km(horizon=3),brier_ipcw(horizon=3),auroc_ipcw(horizon=3),concordance_ipcw(horizon=3)," +
		"concordance(horizon=3),ece_km(bins=4),ici_cox(knots=4),e50_cox(knots=2),e90_cox(knots=5),emax_cox(knots=5),d_calibration_p(bins=4),cce(orthogonal,repeats=1),cce(kernel=cubic,curve=nelson_aalen,horizon=4,weights=chi)"},
}

// TestTaskDocuments: what TestReasons says of classes holds of them: each answer is a number or says why not, in every format, and
// a state reads back to the same.
func TestTaskDocuments(t *testing.T) {
	for _, c := range shapes {
		for _, rows := range []int{1, 2, 60} {
			d := newDir(t)
			m := newTeam(3, rows, max(2, c.Classes), 4)
			labels := []string{"--labels", d.put("y.npy", m.labelFile(t)), "--weights", d.put("w.npy", m.weightFile(t))}
			numbers, observed := draws(5, rows, c.Classes)
			args, input := append([]string{d.put("x.npy", m.scores(t))}, labels...), []string{"classes"}
			switch {
			case c.Kind == metrics.Samples:
				input = []string{"draws"}
				args = []string{d.put("s.npy", npy(t, []int64{int64(rows), int64(c.Classes)}, numbers)), "--labels", d.put("o.npy", npy(t, []int64{int64(rows)}, observed)), "--task", "samples"}
			case c.Kind == metrics.Normals:
				for i := 1; i < len(numbers); i += 3 {
					numbers[i] = 0.1 + math.Abs(numbers[i])
				}
				input = nil
				args = []string{d.put("n.npy", npy(t, []int64{int64(rows), int64(c.Classes)}, numbers)), "--task", "regression"}
			case c.Kind == metrics.LogLiks:
				input = []string{"draws"}
				args = []string{d.put("l.npy", npy(t, []int64{int64(rows), int64(c.Classes)}, numbers)), "--task", "loglik"}
			case c.Kind == metrics.Survival:
				for i := range rows {
					row := numbers[i*c.Classes:][:c.Classes]
					for j := range row[:12] {
						row[j] = float64(j+1) / 16
					}
					row[12], row[13] = 1+math.Abs(row[12]), float64(i%2)
				}
				cut := func(from, to int) []byte {
					var v []float64
					for i := range rows {
						v = append(v, numbers[i*c.Classes+from:i*c.Classes+to]...)
					}
					return npy(t, []int64{int64(rows), int64(to - from)}, v)
				}
				input = []string{"times", "horizons"}
				args = []string{d.put("s.npz", npz(t, "risks.npy", cut(0, 12), "time.npy", cut(12, 13), "event.npy", cut(13, 14))), "--task", "survival", "--horizons", "1,2,3,4,5,6,7,8,9,10,11,12"}
			case c.Kind == metrics.Multivariate:
				input = []string{"members", "dimensions"}
				args = vectorFiles(t, d, "v", 5, rows, c.Classes/3-1, 3)
			case c.Kind == metrics.MultivariateNormals:
				input = []string{"dimensions"}
				var cov []float64
				for range rows {
					cov = append(cov, 2, 0.5, 0.5, 1)
				}
				numbers, _ := draws(5, rows, 4)
				args = []string{d.put("s.npz", npz(t, "mean.npy", npy(t, []int64{int64(rows), 2}, numbers[:2*rows]), "cov.npy", npy(t, []int64{int64(rows), 2, 2}, cov), "obs.npy", npy(t, []int64{int64(rows), 2}, numbers[2*rows:]))), "--task", "multivariate_normal"}
			case c.Kind == metrics.Dirichlet:
				args = append(args, "--input", "dirichlet")
			case c.Members > 0:
				args, input = append(m.files(t, d)[0], labels[2:]...), []string{"classes", "members"}
			case c.Out:
				args, input = append(args[:3:3], "--ood", d.put("away.npy", newSet(9, 33, 3).scores(t))), []string{"classes", "out_of_distribution"}
			}
			args = append(args, "--metrics", c.metrics)
			code, out, errs := candor(t, append([]string{"eval", "--json", "--state", d.at("s.state")}, args...)...)
			if code != 0 {
				t.Fatalf("%+v: exit code %d: %s", c.Shape, code, errs)
			}
			var doc struct {
				Input   map[string]any
				Verdict string
				Metrics map[string]map[string]any
				Members []map[string]map[string]any
				Bins    []any
			}
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatal(err)
			}
			checkMetrics(t, doc.Metrics, false, false)
			for _, m := range doc.Members {
				checkMetrics(t, m, false, false)
			}
			for _, k := range []string{"classes", "draws", "members", "out_of_distribution"} {
				if (doc.Input[k] != nil) != slices.Contains(input, k) {
					t.Errorf("%+v: input.%s is %v", c.Shape, k, doc.Input[k])
				}
			}
			if (len(doc.Bins) > 0) != c.HasClasses() || len(doc.Members) != c.Members || strings.Contains(doc.Verdict, "NaN") || !strings.HasPrefix(doc.Verdict, fmt.Sprint(rows, " row")) {
				t.Errorf("%+v: %d bins, %d members: %s", c.Shape, len(doc.Bins), len(doc.Members), doc.Verdict)
			}
			for key, m := range doc.Metrics {
				if v, ok := m["value"].(float64); ok && (v < 0 || v > 1) && eval.Describe(strings.Split(key, "(")[0]).Range == "[0, 1]" && !strings.Contains(key, "normalised") {
					t.Errorf("%s is %v", key, v)
				}
			}
			for i, f := range []string{"table", "markdown", "csv"} {
				if !check.Full() && i != (len(input)+rows+c.Members)%3 {
					continue
				}
				code, text, errs := candor(t, append([]string{"eval", "--format", f}, args...)...)
				if code != 0 || strings.Contains(text, "NaN") {
					t.Errorf("%+v as %s: exit code %d: %s%s", c.Shape, f, code, errs, text)
				}
				flat := strings.Join(strings.Fields(text), " ")
				for key, m := range doc.Metrics {
					if f != "csv" && m["value"] == nil && !strings.Contains(flat, m["reason"].(string)) {
						t.Errorf("%+v: the %s does not say why there is no %s", c.Shape, f, key)
					}
				}
			}
			if _, again, errs := candor(t, "merge", "--json", d.at("s.state")); again != out {
				t.Errorf("%+v: the document of the state differs: %s", c.Shape, errs)
			}
		}
	}
}

func TestTasksRefuse(t *testing.T) {
	d := newDir(t)
	s := newSet(12, 50, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{x, "--labels", y, "--task", "nonsense"}, exitUsage, "it is classification, binary, multilabel, ensemble, regression, quantiles, samples, multivariate, multivariate_normal, loglik or survival"},
		{[]string{x, "--labels", y, "--task", "samples", "--input", "logits"}, exitUsage, "--input does not go with --task samples"},
		{[]string{x, "--labels", y, "--task", "loglik"}, exitUsage, "--labels: log-likelihoods need no labels"},
		{[]string{x, "--task", "samples"}, exitData, "--labels"},
		{[]string{x, "--labels", y, "--member-axis", "1"}, exitUsage, "--member-axis is for --task ensemble"},
		{[]string{x, "--labels", y, "--task", "ensemble", "--member-axis", "2"}, exitUsage, "--member-axis is 2"},
		{[]string{x, "--labels", y, "--task", "ensemble", "--input", "dirichlet"}, exitUsage, "not for --task ensemble"},
		{[]string{x, "--task", "loglik", "--plot", d.at("p.png")}, exitUsage, "--plot draws forecasts, and --task loglik has none"},
		{[]string{x, "--labels", y, "--metrics", "mutual_information"}, exitUsage, "it is for ensembles"},
		{[]string{x, "--labels", y, "--metrics", "crps"}, exitUsage, "it is for samples"},
		{[]string{x, "--labels", y, "--plot", d.at("p.png"), "--plot-kind", "ood-roc"}, exitUsage, "give --ood FILE"},
		{[]string{x, "--labels", y, "--weights", y, "--ood", x}, exitUsage, "leave --weights out"},
		{[]string{x, "--labels", y, "--ood", d.put("k.npy", newSet(1, 20, 4).scores(t))}, exitData, "both are of one model"},
	} {
		code, out, errs := candor(t, append([]string{"eval"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("candor eval %v: exit code %d, want %d: %s, want %q", c.args, code, c.code, errs, c.want)
		}
	}
}

func TestRealSetsOfSamples(t *testing.T) {
	real := realSets(t)
	at := filepath.Join(real, "monsoon_precip_ens51")
	if _, err := os.Stat(at); err != nil {
		t.Fatal(err)
	}
	doc := evaluate(t, filepath.Join(at, "members.npy"), "--labels", filepath.Join(at, "obs.npy"), "--task", "samples")
	for key, want := range map[string]float64{"crps": 1.6394617674469794, "crps_fair": 1.619015649449691} {
		if got := doc.value(t, key); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
}
