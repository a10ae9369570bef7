package candorbeam

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

func init() {
	register.Function1x1(sum)
	register.Function2x1(keyedSum)
	register.Function1x2(parity)
	register.Function1x2(place)
}

func TestMain(m *testing.M) { ptest.Main(m) }

// sum stands for a state, as passert compares texts.
func sum(state []byte) string { return fmt.Sprintf("%x", sha256.Sum256(state)) }

func keyedSum(key int, state []byte) string { return fmt.Sprint(key, " ", sum(state)) }

func parity(r Row) (int, Row) { return int(r.Label) % 2, r }

// place divides shards by the number in their names.
func place(s Shard) (int, Shard) {
	var i int
	fmt.Sscanf(filepath.Base(s.Path), "%d.", &i)
	return i % 2, s
}

const classes = 5

// set returns rows of probabilities.
func set(rows int) (probs []float32, labels []int32) {
	r := rand.New(rand.NewPCG(7, 11))
	for range rows {
		var row [classes]float64
		var all float64
		for k := range row {
			row[k] = math.Exp(3 * r.NormFloat64())
			all += row[k]
		}
		label, u := int32(0), r.Float64()*all
		for k, v := range row {
			probs = append(probs, float32(v/all))
			if u -= v; u > 0 && k < classes-1 {
				label = int32(k + 1)
			}
		}
		labels = append(labels, label)
	}
	return probs, labels
}

// whole returns the state of rows that one call has read.
func whole(t *testing.T, o Options, probs []float32, labels []int32) []byte {
	t.Helper()
	e, err := o.evaluation(classes, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &metrics.Predictions{Kind: o.Kind, Labels: labels}
	p.Scores = metrics.Scores{F32: probs, Rows: len(labels), Classes: classes}
	if err := e.Add(p, nil); err != nil {
		t.Fatal(err)
	}
	b, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// npy returns the bytes of an array.
func npy(shape []int64, data any) []byte {
	var b bytes.Buffer
	if err := predictions.WriteNPY(&b, shape, data); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func write(t testing.TB, path string, b []byte) string {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shards writes rows to files of unlike lengths, one of them without rows.
func shards(t *testing.T, probs []float32, labels []int32) (l []Shard) {
	dir := t.TempDir()
	ends := []int{0, 1, 1, 700, 1500, 1501, len(labels)}
	for i := 1; i < len(ends); i++ {
		from, to := ends[i-1], ends[i]
		name := func(what string) string { return filepath.Join(dir, fmt.Sprint(i, ".", what, ".npy")) }
		l = append(l, Shard{
			Path:   write(t, name("probs"), npy([]int64{int64(to - from), classes}, probs[from*classes:to*classes])),
			Labels: write(t, name("labels"), npy([]int64{int64(to - from)}, labels[from:to])),
		})
	}
	return l
}

func rows(probs []float32, labels []int32) (l []Row) {
	for i, y := range labels {
		l = append(l, Row{F32: probs[i*classes : (i+1)*classes], Label: y})
	}
	return l
}

// TestPipelineShards: the state is that of one read of all rows, to the byte.
func TestPipelineShards(t *testing.T) {
	probs, labels := set(5000)
	l := shards(t, probs, labels)
	p, s := beam.NewPipelineWithRoot()
	state := Shards(s, Options{}, beam.CreateList(s, l))
	passert.Equals(s, beam.ParDo(s, sum, state), sum(whole(t, Options{}, probs, labels)))
	ptest.RunAndValidate(t, p)
}

// TestCommand: it is also the state that the command writes.
func TestCommand(t *testing.T) {
	probs, labels := set(1000)
	dir := t.TempDir()
	command, state := filepath.Join(dir, "candor"), filepath.Join(dir, "all.state")
	if out, err := exec.Command("go", "build", "-C", "..", "-o", command, "./cmd/candor").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	array := write(t, filepath.Join(dir, "p.npy"), npy([]int64{1000, classes}, probs))
	truth := write(t, filepath.Join(dir, "y.npy"), npy([]int64{1000}, labels))
	if out, err := exec.Command(command, "eval", array, "--labels", truth, "--state", state).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(state)
	if err != nil || !bytes.Equal(got, whole(t, Options{}, probs, labels)) {
		t.Error("the command writes another state", err)
	}
}

// TestPipelineKeys: a state for each key.
func TestPipelineKeys(t *testing.T) {
	probs, labels := set(5000)
	p, s := beam.NewPipelineWithRoot()
	o := Options{Metrics: "nll,ece,accuracy"}
	var want []any
	for key := range 2 {
		var some []float32
		var y []int32
		for i, label := range labels {
			if int(label)%2 == key {
				some, y = append(some, probs[i*classes:(i+1)*classes]...), append(y, label)
			}
		}
		want = append(want, keyedSum(key, whole(t, o, some, y)))
	}
	keyed := beam.ParDo(s, parity, beam.CreateList(s, rows(probs, labels)))
	states := beam.CombinePerKey(s, &RowsFn{o}, keyed)
	passert.Equals(s, beam.ParDo(s, keyedSum, states), want...)

	// Shards of the first key are 2, which is empty, 4 and 6.
	first, second := append([]float32(nil), probs[700*classes:1500*classes]...), append([]float32(nil), probs[:700*classes]...)
	firstLabels, secondLabels := append([]int32(nil), labels[700:1500]...), append([]int32(nil), labels[:700]...)
	first, firstLabels = append(first, probs[1501*classes:]...), append(firstLabels, labels[1501:]...)
	second, secondLabels = append(second, probs[1500*classes:1501*classes]...), append(secondLabels, labels[1500])
	byFile := beam.CombinePerKey(s, &ShardsFn{o}, beam.ParDo(s, place, beam.CreateList(s, shards(t, probs, labels))))
	passert.Equals(s, beam.ParDo(s, keyedSum, byFile), keyedSum(0, whole(t, o, first, firstLabels)), keyedSum(1, whole(t, o, second, secondLabels)))
	ptest.RunAndValidate(t, p)
}

// TestPipelineRows: rows as elements give the same state.
func TestPipelineRows(t *testing.T) {
	probs, labels := set(9000) // more than wait at a time
	p, s := beam.NewPipelineWithRoot()
	state := Rows(s, Options{}, beam.CreateList(s, rows(probs, labels)))
	passert.Equals(s, beam.ParDo(s, sum, state), sum(whole(t, Options{}, probs, labels)))
	ptest.RunAndValidate(t, p)
}

// TestPipelineTables: columns have roles, and a file is opened by its scheme.
func TestPipelineTables(t *testing.T) {
	memfs.Write("memfs://tables/a.csv", []byte("p,y,w\n0.25,no,1\n0.75,yes,2\n"))
	memfs.Write("memfs://tables/b.csv", []byte("y,w,p\nyes,1,0.5\n"))
	p, s := beam.NewPipelineWithRoot()
	o := Options{Columns: roles.Want{Scores: []string{"p"}, Label: "y", Weight: "w"}, Event: "yes"}
	state := Shards(s, o, beam.CreateList(s, []Shard{{Path: "memfs://tables/b.csv"}, {Path: "memfs://tables/a.csv"}}))

	dir := t.TempDir()
	r, err := predictions.OpenTable([]string{write(t, filepath.Join(dir, "all.csv"), []byte("p,y,w\n0.5,yes,1\n0.25,no,1\n0.75,yes,2\n"))},
		&predictions.TableOptions{Columns: o.Columns, Event: o.Event})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e, err := o.evaluation(1, r.ClassNames())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.AddSource(r, nil); err != nil {
		t.Fatal(err)
	}
	want, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	passert.Equals(s, beam.ParDo(s, sum, state), sum(want))
	ptest.RunAndValidate(t, p)
}

// TestPipelineFails: an error names the file and the row.
func TestPipelineFails(t *testing.T) {
	dir := t.TempDir()
	bad := Shard{Path: write(t, filepath.Join(dir, "bad.npy"), npy([]int64{2, 2}, []float32{0.5, 0.5, 0.5, 2}))}
	bad.Labels = write(t, filepath.Join(dir, "labels.npy"), npy([]int64{2}, []int32{0, 1}))
	two := Shard{Path: write(t, filepath.Join(dir, "two.npy"), npy([]int64{2}, []float32{0.5, 1})), Labels: bad.Labels}
	three := Shard{Path: write(t, filepath.Join(dir, "three.npy"), npy([]int64{2, 3}, []float32{1, 0, 0, 0, 1, 0})), Labels: bad.Labels}
	for _, c := range []struct {
		l    []Shard
		want []string
	}{
		{[]Shard{bad}, []string{"bad.npy", "row 1"}},
		{[]Shard{two, three}, []string{".npy", "classes"}},
		{[]Shard{two, {Path: filepath.Join(dir, "none.csv")}}, []string{"none.csv"}},
		{[]Shard{{Path: "other://bucket/a.csv"}}, []string{"other", "not registered"}},
	} {
		p, s := beam.NewPipelineWithRoot()
		Shards(s, Options{}, beam.CreateList(s, c.l))
		err := ptest.Run(p)
		if err == nil {
			t.Errorf("%v: no error", c.l)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q is not in %v", w, err)
			}
		}
	}
}

// TestMerge: whatever Beam does with accumulators, the state is the same: empty ones, ones sent while rows wait, any tree.
func TestMerge(t *testing.T) {
	probs, labels := set(300)
	want := whole(t, Options{}, probs, labels)
	fn := &RowsFn{}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		accumulators := []State{fn.CreateAccumulator()}
		for _, row := range rows(probs, labels) {
			if r.IntN(20) == 0 {
				accumulators = append(accumulators, fn.CreateAccumulator())
			}
			i := r.IntN(len(accumulators))
			a, err := fn.AddInput(accumulators[i], row)
			if err != nil {
				t.Fatal(err)
			}
			if r.IntN(10) == 0 {
				a = sent(t, a)
			}
			accumulators[i] = a
		}
		for len(accumulators) > 1 {
			r.Shuffle(len(accumulators), func(i, j int) { accumulators[i], accumulators[j] = accumulators[j], accumulators[i] })
			last := len(accumulators) - 1
			a, err := fn.MergeAccumulators(accumulators[0], sent(t, accumulators[last]))
			if err != nil {
				t.Fatal(err)
			}
			accumulators[0], accumulators = a, accumulators[:last]
		}
		got, err := fn.ExtractOutput(accumulators[0])
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatal("the state depends on the tree of merges")
		}
	}
}

// sent returns what arrives of an accumulator at another worker.
func sent(t *testing.T, a State) State {
	t.Helper()
	b, err := encode(a)
	if err != nil {
		t.Fatal(err)
	}
	if a, err = decode(b); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestNoRows: no rows are nil, which Open refuses.
func TestNoRows(t *testing.T) {
	fn := &ShardsFn{}
	a, err := fn.MergeAccumulators(sent(t, fn.CreateAccumulator()), fn.CreateAccumulator())
	if err != nil {
		t.Fatal(err)
	}
	b, err := fn.ExtractOutput(a)
	if err != nil || b != nil {
		t.Error(b, err)
	}
	if _, err := Open(b); err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Error(err)
	}
	if _, err := decode([]byte("no state")); err == nil {
		t.Error("decoded what is no state")
	}
}

// TestBadRows: rows that do not go together.
func TestBadRows(t *testing.T) {
	half := []float64{0.5, 0.5}
	for _, c := range []struct {
		name string
		rows []Row
		want string
	}{
		{"no scores", []Row{{}}, "F32 and F64"},
		{"both", []Row{{F32: []float32{1}, F64: []float64{1}}}, "F32 and F64"},
		{"either", []Row{{F64: []float64{1}}, {F32: []float32{1}}}, "F32 and F64"},
		{"weights", []Row{{F64: half, Weight: 2}, {F64: half}}, "weight"},
		{"no weights", []Row{{F64: half}, {F64: half, Weight: 2}}, "weight"},
		{"classes", []Row{{F64: half}, {F64: []float64{0, 1, 0}}}, "3 scores"},
		{"label", []Row{{F64: half, Label: 2}}, "label"},
		{"sum", []Row{{F64: []float64{0.5, 0.5, 0.5}}}, "sum"},
	} {
		fn, a := &RowsFn{}, State{}
		var err error
		for _, r := range c.rows {
			if a, err = fn.AddInput(a, r); err != nil {
				break
			}
		}
		if err == nil {
			_, err = fn.ExtractOutput(a)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := (&RowsFn{Options{Metrics: "acee"}}).ExtractOutput(State{waiting: &waiting{options: Options{Metrics: "acee"}, classes: 1, f64: []float64{1}, labels: []int32{1}}}); err == nil {
		t.Error("a metric that does not exist")
	}
}

// TestWeights: weights, two columns as a binary task, and two classes.
func TestWeights(t *testing.T) {
	for _, o := range []Options{{}, {Classification: true}, {Kind: metrics.Logits, Metrics: "nll"}} {
		fn, a := &RowsFn{o}, State{}
		for i := range 10 {
			var err error
			if a, err = fn.AddInput(a, Row{F64: []float64{0.25, 0.75}, Label: int32(i % 2), Weight: float64(i + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		b, err := fn.ExtractOutput(a)
		if err != nil {
			t.Fatal(err)
		}
		e, err := Open(b)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if o.Classification {
			want = 2
		}
		if e.Spec.Classes != want || !e.Audit.Weighted || e.Audit.Rows != 10 {
			t.Errorf("%+v: %d classes, %+v", o, e.Spec.Classes, e.Audit)
		}
		m, err := eval.ParseMetric("nll")
		if err != nil {
			t.Fatal(err)
		}
		p := 0.75
		if o.Kind == metrics.Logits {
			p = 1 / (1 + math.Exp(-0.5))
		}
		nll := -(30*math.Log(p) + 25*math.Log(1-p)) / 55
		if v := e.Value(m).Value; math.Abs(v-nll) > 1e-12 {
			t.Errorf("%+v: %v, want %v", o, v, nll)
		}
	}
}
