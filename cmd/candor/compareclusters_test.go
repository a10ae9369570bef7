package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// videos returns the lines of a table of two models with one row per frame. The frames of a video share its outcome and most of the noise.
func videos(count, frames int) []string {
	r := rand.New(rand.NewPCG(8, 9))
	var lines []string
	for v := range count {
		y := r.IntN(2)
		old, now := 0.3+0.3*float64(y)+0.2*r.NormFloat64(), 0.25+0.4*float64(y)+0.15*r.NormFloat64()
		for range frames {
			in := func(p float64) float64 { return min(0.99, max(0.01, p+0.02*r.NormFloat64())) }
			lines = append(lines, fmt.Sprintf("v%d,%d,%.4f,%.4f", v, y, in(old), in(now)))
		}
	}
	return lines
}

// TestCompareClusters: errors are by clusters, which shards may share, in all forms, and the state says the same.
func TestCompareClusters(t *testing.T) {
	d := newDir(t)
	lines := videos(40, 10)
	put := func(name string, rows []string) string {
		return d.put(name, []byte("video,y,p_old,p_new\n"+strings.Join(rows, "\n")+"\n"))
	}
	flags := []string{"--prob", "old=p_old", "--prob", "new=p_new", "--label", "y"}
	args := func(file string, more ...string) []string {
		return append(append([]string{"compare", file}, flags...), more...)
	}
	all := put("all.csv", lines)
	whole := printed(t, args(all, "--cluster", "video", "--json")...)
	for _, want := range []string{`"number": 40`, `"method": "Obuchowski's clustered form of DeLong's paired covariance, t with degrees of freedom by the sizes of clusters"`,
		`"method": "mean difference of rows +- t*s, clustered: s by the sums of clusters, t with degrees of freedom by the sizes of clusters"`} {
		if !strings.Contains(whole, want) {
			t.Errorf("no %s in %s", want, whole)
		}
	}
	if strings.Contains(whole, "rows taken as independent\"") {
		t.Error("a difference takes rows as independent")
	}
	// Odd and even rows: every cluster is in both shards.
	var parts [2][]string
	for i, l := range lines {
		parts[i%2] = append(parts[i%2], l)
	}
	states := []string{"merge"}
	for i, p := range parts {
		s := d.at(fmt.Sprint(i, ".state"))
		printed(t, args(put(fmt.Sprint(i, ".csv"), p), "--cluster", "video", "--state", s)...)
		states = append(states, s)
	}
	if got := printed(t, append(states, "--json")...); got != whole {
		t.Errorf("merged shards say\n%s\nnot\n%s", got, whole)
	}
	text := strings.Join(strings.Fields(printed(t, args(all, "--cluster", "video")...)), " ")
	if !strings.Contains(text, "Intervals of differences are by 40 clusters of video, which are taken as independent.") {
		t.Error(text)
	}
	plain := strings.Join(strings.Fields(printed(t, args(all)...)), " ")
	if !strings.Contains(plain, "Intervals of differences take rows as independent.") {
		t.Error(plain)
	}
	few := strings.Join(strings.Fields(printed(t, args(put("few.csv", videos(6, 10)), "--cluster", "video")...)), " ")
	if !strings.Contains(few, "By fewer than 20 they are rough.") || !strings.Contains(few, " clusters would decide it 4 times out of 5") && !strings.Contains(few, "is better than") {
		t.Error(few)
	}
	one := strings.Join(strings.Fields(printed(t, args(put("one.csv", videos(1, 30)), "--cluster", "video")...)), " ")
	if !strings.Contains(one, "so differences have no intervals") || !strings.Contains(one, "all rows are of one cluster") {
		t.Error(one)
	}
	// A set that has a row in another cluster, and flags that do not go together.
	other := append([]string{}, lines...)
	other[25] = "else" + other[25][strings.IndexByte(other[25], ','):]
	two := []string{"compare", all, put("other.csv", other), "--prob", "p_new", "--label", "y", "--cluster", "video"}
	if code, _, errs := candor(t, two...); code != exitData || !strings.Contains(errs, `"else"`) || !strings.Contains(errs, `"v2"`) || !strings.Contains(errs, "row 25") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := candor(t, args(all, "--cluster", "none")...); code == 0 || !strings.Contains(errs, "none") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	f := d.put("f.csv", []byte("day,y,m,s\n1,0.5,0.4,1\n1,0.1,0.2,1\n2,0.3,0.1,1\n3,0.2,0.6,1\n"))
	g := d.put("g.csv", []byte("day,y,m,s\n1,0.5,0.5,1\n1,0.1,0.1,1\n2,0.3,0.4,1\n3,0.2,0.1,1\n"))
	forecasts := []string{"compare", f, g, "--task", "regression", "--mean", "m", "--std", "s", "--observed", "y"}
	if code, _, errs := candor(t, append(forecasts, "--cluster", "day", "--horizon", "2")...); code != exitUsage || !strings.Contains(errs, "give one") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if text := strings.Join(strings.Fields(printed(t, append(forecasts, "--cluster", "day")...)), " "); !strings.Contains(text, "by 3 clusters of day") {
		t.Error(text)
	}
	if text := strings.Join(strings.Fields(printed(t, forecasts...)), " "); !strings.Contains(text, "take rows as independent, which forecasts of near times") || !strings.Contains(text, "--cluster names") {
		t.Error(text)
	}
}

// TestCompareClustersAligned: sets in other orders, and models of a long table, keep the names of clusters, in states too.
func TestCompareClustersAligned(t *testing.T) {
	d := newDir(t)
	lines := videos(20, 6)
	var old, now, long []string
	for i, l := range lines {
		c := strings.Split(l, ",")
		old = append(old, fmt.Sprintf("%d,%s,%s,%s", i, c[0], c[1], c[2]))
		now = append(now, fmt.Sprintf("%d,%s,%s,%s", i, c[0], c[1], c[3]))
		long = append(long, "old,"+old[i], "new,"+now[i])
	}
	put := func(name, head string, rows []string) string {
		return d.put(name, []byte(head+"id,video,y,p\n"+strings.Join(rows, "\n")+"\n"))
	}
	flags := []string{"--prob", "p", "--label", "y", "--cluster", "video", "--json"}
	first := put("old.csv", "", old)
	want := printed(t, append([]string{"compare", first, put("new.csv", "", now)}, flags...)...)
	slices.Reverse(now)
	if got := printed(t, append([]string{"compare", first, put("new.csv", "", now), "--id", "id"}, flags...)...); got != want {
		t.Errorf("with --id: %s", differing(got, want))
	}
	args := []string{"merge", "--json"}
	for i, rows := range [][]string{long[:70], long[70:]} { // a video is in both
		s := d.at(fmt.Sprint(i, ".state"))
		printed(t, append([]string{"compare", put(fmt.Sprint(i, ".csv"), "model,", rows), "--model", "model", "--state", s}, flags...)...)
		args = append(args, s)
	}
	if got := printed(t, args...); got != want {
		t.Errorf("with --model: %s", differing(got, want))
	}
	now[3] = "116,else" + now[3][strings.LastIndex(now[3], ",")-2:]
	if code, _, errs := candor(t, append([]string{"compare", first, put("new.csv", "", now), "--id", "id"}, flags[:6]...)...); code != exitData || !strings.Contains(errs, `id "116": the cluster is "else", and "v19" in `) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
