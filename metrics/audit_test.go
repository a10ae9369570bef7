package metrics_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
)

func TestAuditMerge(t *testing.T) {
	base := metrics.Audit{Rows: 3, Classes: 4, DType: metrics.Float32, Kind: metrics.Logits, SumsOff: 2, SumMin: 0.99, SumMax: 1.01}
	for _, c := range []struct {
		change func(a *metrics.Audit)
		says   string
	}{
		{func(a *metrics.Audit) { a.Classes = 5 }, "4 classes and 5 classes"},
		{func(a *metrics.Audit) { a.DType = metrics.BFloat16 }, "type float32 and of type bfloat16"},
		{func(a *metrics.Audit) { a.Kind = metrics.LogProbs }, "logits and logprobs"},
		{func(a *metrics.Audit) { a.Weighted = true }, "weights"},
		{func(a *metrics.Audit) { a.Decided = true }, "one has decisions, the other has none"},
		{func(a *metrics.Audit) { a.Scored = true }, "one has confidence scores, the other has none"},
		{func(a *metrics.Audit) { a.Renormalized = true }, "renormalised"},
		{func(a *metrics.Audit) { a.Unchecked = true }, "checked"},
	} {
		a, b := base, base
		c.change(&b)
		if err := a.Merge(&b); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
		if a != base {
			t.Errorf("%+v", a)
		}
	}
	a, b := base, base
	b.SumMin, b.SumMax, b.Dropped, b.Absent = 1.002, 1.5, 7, 8
	if err := a.Merge(&b); err != nil {
		t.Fatal(err)
	}
	want := base
	want.Rows, want.Dropped, want.Absent, want.SumsOff, want.SumMax = 6, 7, 8, 4, 1.5
	if a != want {
		t.Errorf("%+v", a)
	}
	a = metrics.Audit{}
	if err := a.Merge(&base); err != nil || a != base {
		t.Errorf("%v %+v", err, a)
	}
	if err := a.Merge(&metrics.Audit{}); err != nil || a != base {
		t.Errorf("%v %+v", err, a)
	}
}

// mustRefuse tries every truncation and every change of a byte of a state, other magic and other versions.
func mustRefuse(t *testing.T, s []byte, magic string, version uint16, unmarshal func([]byte) error, unchanged func() bool) {
	t.Helper()
	if err := unmarshal(s); err != nil {
		t.Fatal(err)
	}
	for n := range s {
		if unmarshal(s[:n]) == nil {
			t.Errorf("%s: accepts its first %d of %d bytes", magic, n, len(s))
		}
	}
	if unmarshal(append(append([]byte{}, s...), 0)) == nil {
		t.Errorf("%s: accepts a byte more", magic)
	}
	b := append([]byte{}, s...)
	for i := range b {
		for d := 1; d < 256; d += 1 + 13*min(1, i/60) { // every change of the first bytes, some of the others
			b[i] = s[i] ^ byte(d)
			if unmarshal(b) == nil {
				t.Errorf("%s: byte %d may be changed by %#x", magic, i, d)
			}
		}
		b[i] = s[i]
	}
	_, payload, _, err := exact.Open(magic, s)
	if err != nil {
		t.Fatal(err)
	}
	if err := unmarshal(exact.Seal("cXYZ", version, payload)); !errors.Is(err, exact.ErrMagic) {
		t.Error(err)
	}
	for _, v := range []uint16{0, version + 1, 65535} {
		if err := unmarshal(exact.Seal(magic, v, payload)); err == nil || !strings.Contains(err.Error(), "version") {
			t.Error(err)
		}
	}
	for n := range payload { // sealed anew, so that the fields themselves are short
		if unmarshal(exact.Seal(magic, version, payload[:n])) == nil {
			t.Errorf("%s: accepts %d of %d bytes of its fields", magic, n, len(payload))
		}
	}
	if err := unmarshal(exact.Seal(magic, version, append(append([]byte{}, payload...), 0))); !errors.Is(err, exact.ErrDamaged) {
		t.Error(err)
	}
	if !unchanged() {
		t.Errorf("%s: something changed", magic)
	}
}

func TestRefusal(t *testing.T) {
	p := even(9, 2, metrics.Probs, metrics.Float64)
	put(p, 3, 0, 1e30)
	p.Weights = []float64{1, 2, 3, 0x1p32, 5, 6, 7, 8, 0x1p-32}
	p.Decisions, p.ConfidenceScores = make([]int32, 9), make([]float64, 9)
	l, b := metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(&calib.Options{Bins: 2, Zero: calib.OwnBin}))
	audit := feed(t, p, &metrics.Options{Unchecked: true}, l, b).Audit()

	sl, l2 := state(t, l), metrics.Must(score.NewLoss(nil))
	mustRefuse(t, sl, "cLOS", 2, l2.UnmarshalBinary, func() bool { return string(state(t, l2)) == string(sl) })
	sb, b2 := state(t, b), metrics.Must(calib.NewBins(nil))
	mustRefuse(t, sb, "cBIN", 2, b2.UnmarshalBinary, func() bool { return string(state(t, b2)) == string(sb) })
	var a2 metrics.Audit
	mustRefuse(t, auditState(audit), "cAUD", 1, a2.UnmarshalBinary, func() bool { return a2 == audit })
}

// FuzzAuditUnmarshal holds that whatever is read is written again as the same bytes. The data are sealed, or the
// checksum would keep the fuzzer out.
func FuzzAuditUnmarshal(f *testing.F) {
	for _, a := range []metrics.Audit{{}, {Rows: 1, Classes: 3, Weighted: true, Decided: true, Scored: true, SumsOff: 1, SumMin: 0.99, SumMax: 0.99}} {
		_, payload, _, err := exact.Open("cAUD", auditState(a))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var a metrics.Audit
		_ = a.UnmarshalBinary(payload)
		s := exact.Seal("cAUD", 1, payload)
		if a.UnmarshalBinary(s) != nil {
			return
		}
		if string(auditState(a)) != string(s) {
			t.Errorf("%+v is written in another way", a)
		}
		a.Warnings()
		b := a
		if err := a.Merge(&b); err != nil {
			t.Error(err)
		}
	})
}
