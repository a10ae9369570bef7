package visible

import (
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		`C:\new\"x" <&> é 木 😀`:        `C:\new\"x" <&> é 木 😀`,
		"a\nb\tc\r":                   `a\nb\tc\r`,
		"\x1b[31mred\x1b]0;t\a":       `\x1b[31mred\x1b]0;t\a`,
		"del\x7f nul\x00":             `del\x7f nul\x00`,
		"\u009b31m c1":                `\u009b31m c1`,
		"\x9b31m, no UTF-8\xff":       `\x9b31m, no UTF-8\xff`,
		"\u202eevil \ufeff\u200b end": `\u202eevil \ufeff\u200b end`,
		"line\u2028end\u00a0":         `line\u2028end\u00a0`,
		"\ufffd stays":                "\ufffd stays",
	} {
		got := Text(in)
		if got != want || Text(got) != got {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Texts([]string{"a", "\x01"}); !slices.Equal(got, []string{"a", `\x01`}) {
		t.Errorf("%q", got)
	}
}
