package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestInspectPipe: what comes from a pipe is described as the file is, whatever its format.
func TestInspectPipe(t *testing.T) {
	tables := "../../testdata/tables/"
	for _, name := range []string{tables + "rows.jsonl", tables + "list.parquet", tables + "polars.arrow", tables + "stream.arrows", tables + "float32.safetensors",
		"../../testdata/forecasts/nixtla.csv"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code, file, errs := candor(t, "inspect", name)
		if code != 0 {
			t.Fatal(errs)
		}
		var out, said bytes.Buffer
		if code := run([]string{"inspect", "-"}, bytes.NewReader(b), &out, &said); code != 0 || strings.ReplaceAll(file, name, "-") != out.String() || !strings.Contains(file, "\nLikely: ") {
			t.Errorf("%s: exit code %d: %s\n%s\nand the file:\n%s", name, code, said.String(), out.String(), file)
		}
	}
	for stdin, want := range map[string]string{
		"":                         "candor: standard input: empty file",
		"\x80\x04\x95\x10\x00\xff": "candor: standard input: not a table: it looks like a Python pickle",
		"PAR1\x00\x00":             "candor: standard input: ",
	} {
		var out, said bytes.Buffer
		if code := run([]string{"inspect", "-"}, strings.NewReader(stdin), &out, &said); code != exitData || !strings.HasPrefix(said.String(), want) || out.Len() > 0 {
			t.Errorf("%q: exit code %d: %s%s", stdin, code, out.String(), said.String())
		}
	}
}

// TestInspectTypes: formats with types have them in their own words.
func TestInspectTypes(t *testing.T) {
	for name, want := range map[string]string{
		"half.parquet":         "probs     lists of numbers, list<float16>  ",
		"float32.safetensors":  "probs     lists of numbers, F32 of shape (120, 3)",
		"bfloat16.safetensors": "decision  numbers, I32",
		"rows.jsonl":           "weight    numbers  0.5",
	} {
		if _, out, errs := candor(t, "inspect", "../../testdata/tables/"+name); !strings.Contains(out, "\n  "+want) {
			t.Errorf("%s has no %q: %s%s", name, want, out, errs)
		}
	}
	_, out, _ := candor(t, "inspect", "--json", "../../testdata/tables/half.parquet")
	if !strings.Contains(out, `"stored": "double"`) {
		t.Error(out)
	}
}

// TestInspectForecasts: the command that is proposed for a table of forecasts.
func TestInspectForecasts(t *testing.T) {
	d := newDir(t)
	for text, want := range map[string]string{
		"mean,sd,observed\n1,2,3\n":                                        "--task regression",
		"mean,sd,y\n1,2,3\n":                                               "--task regression --observed y",
		"q0.1,q0.9,observed\n1,2,3\n":                                      "--task quantiles --quantile-prefix q",
		"unique_id,ds,y,A,A-lo-90,A-hi-90\na,1,2,2,1,3\n":                  "--from nixtla --model A",
		"unique_id,ds,A,A-lo-90,A-hi-90\na,1,2,1,3\n":                      "--from nixtla --model A --oracle FILE",
		"target,output_type,output_type_id,value\nwk flu,quantile,0.1,3\n": "--from hubverse --oracle FILE --target 'wk flu' --output-type quantile",
		"output_type,output_type_id,value\npmf,low,0.3\n":                  "--from hubverse --oracle FILE --output-type pmf",
		"q1,q2,label\n0.25,0.75,1\n":                                       "--prob-prefix q --labels label",
	} {
		path := d.put("t.csv", []byte(text))
		if _, out, errs := candor(t, "inspect", path); !strings.HasSuffix(out, "\nLikely: candor eval "+path+" "+want+"\n") {
			t.Errorf("%q: %s%s", text, out, errs)
		}
	}
}
