package tails

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/candor-go/candor/kernel"
)

// near holds that p is as near as the package promises, and how near it was.
func near(t *testing.T, worst *float64, got, want float64, of ...any) {
	t.Helper()
	off := math.Abs(got/want-1) / (1 - math.Log(want))
	*worst = max(*worst, off)
	if !(off < 5e-15) {
		t.Errorf("of %v: %v, want %v, off by %.2g", of, got, want, got/want-1)
	}
}

// The values wanted are by series and quadrature of 60 digits (mpmath), for arguments that are these float64.

func TestChiSquare(t *testing.T) {
	worst := 0.0
	for _, c := range []struct {
		k       int
		x, want float64
	}{
		{1, 1e-09, 0.999974768674784004},
		{1, 0.5, 0.479500122186953462},
		{1, 3.84, 0.0500435212487051032},
		{1, 1300.0, 1.13037284414927424e-284},
		{2, 0.25, 0.882496902584595403},
		{2, 1300.0, 5.11195194865115625e-283},
		{3, 2.0, 0.572406704470879834},
		{3, 3.5, 0.320762120805639032},
		{4, 9.5, 0.0497472474179436465},
		{9, 0.1, 0.999999974369674603},
		{9, 16.9, 0.0503051901243108761},
		{9, 400.0, 1.36991250196626554e-80},
		{10, 18.3, 0.0501090614114624516},
		{19, 19.5, 0.42520893846550023},
		{19, 850.0, 4.99218697701042851e-168},
		{20, 5.0, 0.999722647905379164},
		{20, 31.4, 0.0501264153534207842},
		{99, 99.0, 0.481096912408263898},
		{99, 150.0, 0.000720445395716962918},
		{100, 40.0, 0.99999998754107392},
		{100, 1100.0, 4.70048237801942588e-168},
		{1000, 999.0, 0.502975706170884051},
		{1001, 1100.0, 0.0154492025397367702},
		{20000, 19000.0, 0.99999981375453482},
		{20000, 20400.0, 0.0232873221335988039},
		{20001, 25000.0, 4.11693574878618557e-119},
	} {
		near(t, &worst, ChiSquare(c.x, c.k), c.want, c.k, c.x)
	}
	t.Logf("off by at most %.2g", worst)
	for _, k := range []int{1, 2, 3, 100, 1_000_000} {
		if ChiSquare(0, k) != 1 || ChiSquare(5e-324, k) != 1 || ChiSquare(-1, k) != 1 || ChiSquare(math.Inf(1), k) != 0 ||
			ChiSquare(1e300, k) != 0 || !math.IsNaN(ChiSquare(math.NaN(), k)) {
			t.Errorf("%d degrees of freedom at the ends", k)
		}
	}
}

// TestChiSquareOracle holds 30 digits of mpmath; see testdata/oracle/make_calibration_peers.py.
func TestChiSquareOracle(t *testing.T) {
	f, err := os.Open("../../../testdata/oracle/calibration_peers.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Tail [][3]float64 } // degrees, x, tail
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if len(d.Tail) < 150 {
		t.Fatalf("%d values", len(d.Tail))
	}
	worst := 0.0
	for _, c := range d.Tail {
		near(t, &worst, ChiSquare(c[1], int(c[0])), c[2], c[0], c[1])
	}
	t.Logf("off by at most %.2g", worst)
}

func TestStudent(t *testing.T) {
	if p := Student(2, math.NaN()); p == p {
		t.Errorf("%v without degrees of freedom", p)
	}
	worst := 0.0
	for _, c := range []struct{ nu, t, want float64 }{
		{1.0, 1e-09, 0.999999999363380228},
		{1.0, 1.0, 0.5},
		{1.0, 12.7, 0.0500243276893441601},
		{1.0, 100000.0, 6.36619772346360684e-6},
		{2.0, 0.1, 0.929465438414140169},
		{2.0, 4.3, 0.0500571541170915923},
		{2.0, 1e+80, 9.99999999999999999e-161},
		{3.0, 1.5, 0.230583865244823052},
		{3.0, 1.7, 0.187690641553410088},
		{9.0, 2.26, 0.0501765957821421796},
		{9.0, 30.0, 2.48370470415826244e-10},
		{10.0, 0.001, 0.999221783374740984},
		{24.0, 1.4, 0.174308192211944499},
		{24.0, 60.0, 1.1505885034705205e-27},
		{199.0, 1.18, 0.239408853687556038},
		{199.0, 17.6, 1.97777174492221627e-42},
		{1000.0, 1.96, 0.0502731849557487184},
		{1000.0, 8.0, 3.4266614823914744e-15},
		{10000.0, 0.5, 0.617086079323233414},
		{10000.0, 1.8, 0.0718907658829288734},
		{10000.0, 12.0, 5.97977960781132516e-33},
		{1e6, 1.0, 0.317310749833578129},
		{1e6, 3.0, 0.00269986254142179706},
		{1e8, 2.5, 0.0124193322400545413},
		{1e12, 0.1, 0.920344325445962079},
		{1e12, 2.0, 0.0455002638966283692},
	} {
		near(t, &worst, Student(c.t, c.nu), c.want, c.nu, c.t)
		if Student(-c.t, c.nu) != Student(c.t, c.nu) {
			t.Error(c.nu, c.t, "is not symmetric")
		}
	}
	t.Logf("off by at most %.2g", worst)
	for _, nu := range []float64{1, 2, 1e6} {
		if Student(0, nu) != 1 || Student(1e-200, nu) != 1 || Student(math.Inf(1), nu) != 0 {
			t.Errorf("%v degrees of freedom at the ends", nu)
		}
	}
}

// TestRadius compares with closed forms: of one variable Student's, of two (1 + x/nu)^(-nu/2), of many degrees of freedom chi-square's.
func TestRadius(t *testing.T) {
	worst := 0.0
	for _, nu := range []float64{1, 4, 30, 1000} {
		for _, x := range []float64{1e-6, 0.3, 2, 9, 60} {
			near(t, &worst, Radius(x, 1, nu), Student(math.Sqrt(x), nu), nu, x)
			near(t, &worst, Radius(x, 2, nu), kernel.Exp64(-nu/2*kernel.Log1p64(x/nu)), nu, x)
		}
	}
	for _, k := range []int{1, 2, 7, 19} {
		for _, x := range []float64{0.5, 8, 40} {
			if got, want := Radius(x, k, 1e13), ChiSquare(x, k); math.Abs(got/want-1) > 1e-9 {
				t.Error(k, x, got, want)
			}
		}
	}
	if Radius(0, 3, 5) != 1 || Radius(math.Inf(1), 3, 5) != 0 {
		t.Error("at the ends:", Radius(0, 3, 5), Radius(math.Inf(1), 3, 5))
	}
}

func TestStudentQuantile(t *testing.T) {
	for _, nu := range []float64{1, 2, 3, 5, 9, 40, 199, 1e4, 1e6, 1e9} {
		for _, p := range []float64{0.9999, 0.5, 0.1, 0.05, 0.01, 1e-6, 1e-15} {
			q := StudentQuantile(p, nu)
			if got := Student(q, nu); !(math.Abs(got/p-1) < 1e-13*(1-math.Log(p))) || !(q > 0) {
				t.Errorf("%v of %v degrees of freedom: %v, which has %v beyond", p, nu, q, got)
			}
		}
	}
	// In closed form, of 1 and 2 degrees of freedom.
	if q, want := StudentQuantile(0.05, 1), math.Tan(math.Pi/2*0.95); math.Abs(q/want-1) > 1e-14 {
		t.Error(q, want)
	}
	if q, want := StudentQuantile(0.05, 2), 0.95*math.Sqrt(2/(1-0.95*0.95)); math.Abs(q/want-1) > 1e-14 {
		t.Error(q, want)
	}
}

func TestBinomial(t *testing.T) {
	worst := 0.0
	for _, c := range []struct{ n, k, f, want float64 }{
		{1, 1, 0.3, 0.299999999999999989},
		{2, 1, 0.4, 0.640000000000000027},
		{2, 2, 0.9, 0.81000000000000004},
		{10, 3, 0.05, 0.0115035573792968767},
		{10, 9, 0.89, 0.697209243377895618},
		{37, 20, 0.25, 0.000147102983173215411},
		{100, 1, 1e-06, 0.0000999950501616960743},
		{100, 50, 0.5, 0.539794618693589381},
		{100, 99, 0.8, 5.29629353846969181e-9},
		{1000, 10, 0.002, 0.0000451746883162213419},
		{1000, 990, 0.97, 0.0000181299134679642141},
		{10000, 5000, 0.49, 0.023281712519269285},
		{10000, 5000, 0.35, 2.78192926226077366e-207},
		{10000, 9999, 0.999, 0.00049735899139294699},
		{1e6, 1, 1e-07, 0.0951625864882278032},
		{1e6, 3, 1.5e-06, 0.191153075328738873},
		{1e6, 10000, 0.0097, 0.00117465540141531607},
		{1e6, 500000, 0.4985, 0.00135430319819710444},
		{1e6, 999000, 0.99885, 3.28640968216301741e-6},
		{1e9, 1000, 9e-07, 0.000549899331875083121},
		{1e9, 500000000, 0.49995, 0.000782786113540265221},
	} {
		near(t, &worst, Binomial(c.k, c.n, c.f), c.want, c.n, c.k, c.f)
	}
	t.Logf("off by at most %.2g", worst)
	for _, n := range []float64{1, 7, 1e5} {
		if Binomial(n, n, 1) != 1 {
			t.Error("all of", n)
		}
	}
}

// TestGonum compares with gonum, whose incomplete functions lose digits where their arguments are large.
func TestGonum(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 2000 {
		k := 1 + r.IntN(60)
		x := float64(k) * math.Exp(r.NormFloat64())
		if got, want := ChiSquare(x, k), (distuv.ChiSquared{K: float64(k)}).Survival(x); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("%d degrees of freedom at %v: %v, gonum has %v", k, x, got, want)
		}
		nu, q := float64(1+r.IntN(60)), 3*r.NormFloat64()
		if got, want := Student(q, nu), mathext.RegIncBeta(nu/2, 0.5, nu/(nu+q*q)); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("%v degrees of freedom at %v: %v, gonum has %v", nu, q, got, want)
		}
		n := float64(1 + r.IntN(60))
		s := math.Ceil(n * r.Float64())
		f := s / n * r.Float64()
		if got, want := Binomial(s, n, f), mathext.RegIncBeta(s, n-s+1, f); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("%v of %v at %v: %v, gonum has %v", s, n, f, got, want)
		}
	}
}

func TestKolmogorov(t *testing.T) {
	worst := 0.0
	for _, c := range []struct{ x, want float64 }{
		{0, 1}, {0.05, 1}, {0.1, 1}, {0.15, 1},
		{0.3, 0.999990694198665433},
		{0.5, 0.963945243664875094},
		{0.8276, 0.499958416563547277},
		{0.99, 0.280873839225548922},
		{1, 0.269999671677354521},
		{1.3581, 0.0499996304316674127},
		{1.6276, 0.0100015373330607724},
		{2.5, 7.45330634415734160e-06},
		{5, 3.85749969592783557e-22},
		{12, 1.67578850676387379e-125},
		{18, 7.55449994472424964e-282},
	} {
		near(t, &worst, Kolmogorov(c.x), c.want, c.x)
	}
	if p := Kolmogorov(math.NaN()); p == p {
		t.Errorf("of NaN: %v", p)
	}
	t.Logf("off by %.2g at most", worst)
}

// TestFisher compares with fractions, from the larger of either share.
func TestFisher(t *testing.T) {
	worst := 0.0
	for _, c := range []struct{ a, m, b, n, want float64 }{
		{1, 9, 11, 12, 0.000374238764331643589},
		{0, 10, 5, 10, 0.0162538699690402477},
		{3, 100, 12, 95, 0.0128966324339794907},
		{50, 100, 50, 100, 1},
		{0, 200, 7, 10000, 0.870524317368345367},
		{7, 200, 30, 10000, 6.72187282530954994e-06},
		{200, 200, 9990, 10000, 0.820275873973435303},
		{12, 20, 20, 20, 0.00163800163800163800},
		{1, 1, 0, 1, 0.5},
		{300, 1000, 420, 1100, 7.89606288589189235e-05},
		{30, 10000, 120, 10000, 3.02877015450928896e-14},
		{4990, 9000, 5300, 9100, 0.000145311151796056463},
		{0, 3000, 900, 3000, 2.79124110759426799e-306},
		{0, 5, 0, 7, 1}, {5, 5, 7, 7, 1}, {0, 0, 3, 7, 1}, {2, 4, 0, 0, 1},
	} {
		for _, got := range []float64{Fisher(c.a, c.m, c.b, c.n), Fisher(c.b, c.n, c.a, c.m), Fisher(c.m-c.a, c.m, c.n-c.b, c.n)} {
			near(t, &worst, got, c.want, c.a, c.m, c.b, c.n)
		}
	}
	t.Logf("off by %.2g at most", worst)
}

// TestGamma compares with chi-square tails, and with gonum between whole degrees of freedom.
func TestGamma(t *testing.T) {
	worst := 0.0
	for _, a := range []float64{0.03, 0.5, 0.7, 1, 1.3, 2.5, 4, 9.75, 60.5, 1234.25, 1e6} {
		for _, z := range []float64{-3, -1, -0.2, 0, 0.5, 1, 2, 4, 10, 30} {
			x := a + z*math.Sqrt(a)
			if x <= 0 {
				continue
			}
			got := Gamma(x, a)
			if want := mathext.GammaIncRegComp(a, x); want > 1e-290 && math.Abs(got/want-1) > 1e-11*(1+math.Sqrt(a)/30) {
				t.Errorf("a = %v, x = %v: %v, gonum %v", a, x, got, want)
			}
			if k := int(2 * a); float64(k) == 2*a && k < 1e5 && got < 0.9 {
				near(t, &worst, got, ChiSquare(2*x, k), a, x)
			}
		}
	}
	if Gamma(0, 2) != 1 || Gamma(-1, 2) != 1 || Gamma(math.Inf(1), 2) != 0 || !math.IsNaN(Gamma(math.NaN(), 2)) || !math.IsNaN(Gamma(1, math.NaN())) {
		t.Error("ends")
	}
	t.Logf("relative error %.2g (1 - ln p)", worst)
}

// TestFreedom: rows that count alike have n - 1, and few that have all have fewer.
func TestFreedom(t *testing.T) {
	for _, c := range []struct{ n, second, fourth, want float64 }{{10, 2, 4, 9}, {100, 1, 3, 99}, {100, 1, 5, 50}, {100, 1, 1000, 1}} {
		if got := Freedom(c.n, c.second, c.fourth); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if got := Freedom(1, 1, 1); got == got {
		t.Errorf("of one row: %v", got)
	}
}
