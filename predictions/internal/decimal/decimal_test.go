package decimal

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// parse parses a whole text.
func parse(s string) (float64, bool) {
	t := append([]byte(s+"\n"), make([]byte, Pad)...)
	v, end, ok := Parse(t, 0)
	return v, ok && end == len(s)
}

// Numbers are rounded as in strconv.
func TestParse(t *testing.T) {
	check := func(s string) {
		t.Helper()
		if digits, ok := strings.CutPrefix(s, "0."); ok {
			want, err := strconv.ParseFloat(s, 64)
			v, end := Fraction(append([]byte(digits+"\n"), make([]byte, Pad)...), 0)
			if end > 0 && (err != nil || end != len(digits) || math.Float64bits(v) != math.Float64bits(want)) {
				t.Fatalf("%q is %v up to %d, want %v %v", s, v, end, want, err)
			}
		}
		want, err := strconv.ParseFloat(s, 64)
		got, ok := parse(s)
		if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q is %v %v, want %v %v", s, got, ok, want, err)
		}
	}
	for _, s := range []string{
		"0", "-0", "+0", "1", "-1", "+1", "00012", "1.", ".5", "-.5", "1.5", "0.1", "0.3", "1e5", "1E5", "1e+5", "1e-5", "1.e2", ".1e1",
		"9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995", "9007199254740993.0000000000000000000001",
		"18446744073709551615", "18446744073709551616", "99999999999999999999", "9999999999999999999", "1e22", "1e23", "123e22", "8e22",
		"0.000000000000000000000000000000000000000012345678901234567", "0000000000000000000000000.5", "000000000000000000000.12345678901234567",
		"1e308", "1.7976931348623157e308", "1.7976931348623159e308", "1e309", "-1e309", "1e400", "1e-400", "-1e-400", "1e99999999999999999999",
		"5e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "2.2250738585072011e-308", "2.2250738585072014e-308",
		"6.631236846766476e-316", "3.2378839133029012895883524125015321748630094231210592e-317", "8.589934592e9", "7.2057594037927933e+16",
		"1090544144181609348671888949248", "1090544144181609348835077142190", "0.500000000000000166533453693773481063544750213623046875",
		"1.00000000000000011102230246251565404236316680908203125", "1.00000000000000011102230246251565404236316680908203124",
		"1.00000000000000011102230246251565404236316680908203126", "1e64", "1e65", "1e-64", "1e-65", "12345678901234567e-64",
		"179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
		"", "-", "+", ".", "-.", "e5", "1e", "1e+", "1e-", "--1", "+-1", "abc", "1a", "1..2", "1.2.3", "1 ", "1e5.5", "١",
	} {
		check(s)
	}
	for _, s := range []string{"0x10", "0x1p-2", "inf", "NaN", "1_000", " 1"} {
		if _, ok := parse(s); ok {
			t.Errorf("%q is a number", s)
		}
	}
	r := rand.New(rand.NewPCG(3, 5))
	n := 60_000
	if testing.Short() {
		n = 10_000
	}
	for range n {
		check("0." + strconv.FormatUint(r.Uint64()>>r.IntN(64), 10))
		check("0.0000" + strconv.FormatUint(r.Uint64()>>r.IntN(64), 10))
		check("0." + strconv.FormatUint(1<<52+r.Uint64N(1<<52), 10) + "5")
		v := math.Float64frombits(r.Uint64())
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		check(strconv.FormatFloat(v, 'g', -1, 64))
		v = r.NormFloat64() * math.Exp(4*r.NormFloat64())
		check(strconv.FormatFloat(v, 'f', -1, 64))
		check(strconv.FormatFloat(v, 'e', r.IntN(19), 64))
		check(strconv.FormatFloat(v, 'f', r.IntN(25), 64))
		check(strconv.FormatUint(r.Uint64()>>r.IntN(64), 10) + "e" + strconv.Itoa(r.IntN(150)-75))
		// Halfway between two neighbours, and close to it.
		half := strconv.FormatUint(1<<53+2*r.Uint64N(1<<51)+1, 10)
		check(half)
		check(half + ".0")
		check(half + "e" + strconv.Itoa(r.IntN(8)))
	}
}

func BenchmarkParse(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var t []byte
	for range 1000 {
		t = append(strconv.AppendFloat(t, r.NormFloat64(), 'g', -1, 64), '\n')
	}
	n := len(t)
	t = append(t, make([]byte, Pad)...)
	b.SetBytes(int64(n))
	for b.Loop() {
		for p := 0; p < n; p++ {
			_, p, _ = Parse(t, p)
		}
	}
}

func BenchmarkFraction(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var t []byte
	for range 1000 {
		t = append(strconv.AppendFloat(t, 0.1+0.9*r.Float64(), 'g', -1, 64), '\n')
	}
	n := len(t)
	t = append(t, make([]byte, Pad)...)
	b.SetBytes(int64(n))
	for b.Loop() {
		for p := 0; p < n; p++ {
			_, p = Fraction(t, p+2)
		}
	}
}
