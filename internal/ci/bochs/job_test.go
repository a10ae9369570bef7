package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestJob(t *testing.T) {
	want := &job{Mark: "<m> ", Args: []string{"-test.run=^(A|B)$", "", "a b\n\"c\" é"}, Env: []string{"CANDOR_X=1=2"}}
	data, err := want.encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeJob(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
	if _, err := decodeJob(data[1:]); err == nil {
		t.Error("half a job is one")
	}
}

func TestJobEnv(t *testing.T) {
	got := jobEnv([]string{"HOME=/home/me", "CANDOR_ISA=avx2", "XCANDOR_A=1", "GOGC=off", "GOGCX=1", "PATH=/bin", "CANDOR_EMPTY="})
	want := []string{"HOME=/tmp", "PATH=/", "TMPDIR=/tmp", "CANDOR_ISA=avx2", "GOGC=off", "CANDOR_EMPTY="}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSerialLine(t *testing.T) {
	const m = "<bochs 1> "
	for _, c := range []struct {
		what, in, out, before string
		ended                 *ending
		failed                bool
	}{
		{"nothing", "", "", "", nil, false},
		{"only the kernel", "[ 1.0] panic: no init\r\n", "", "[ 1.0] panic: no init\r\n", nil, false},
		{"a program that passes", "k\n" + m + "start\nPASS\n" + m + "exit 0\n[ 9.0] Power down\n", "PASS\n", "k\n", &ending{0, ""}, false},
		{"one that fails", m + "start\n\x16--- FAIL: TestA (1.00s)\n" + m + "exit 1\n", "\x16--- FAIL: TestA (1.00s)\n", "", &ending{1, ""}, true},
		{"a subtest that fails, then nothing", m + "start\n    --- FAIL: TestA/b (1.00s)\n", "    --- FAIL: TestA/b (1.00s)\n", "", nil, true},
		{"a panic, then nothing", m + "start\npanic: no\n", "panic: no\n", "", nil, true},
		{"an illegal instruction", m + "start\nSIGILL: illegal instruction\n" + m + "exit 2\n", "SIGILL: illegal instruction\n", "", &ending{2, ""}, true},
		{"signs of life", m[:5] + "\x00" + m[5:] + "start\nP\x00A\x00\x00SS\n\x00" + m + "ex\x00it 0\n", "PASS\n", "", &ending{0, ""}, false},
		{"a last line without an end", m + "start\nno end" + m + "exit 3\n", "no end", "", &ending{3, ""}, false},
		{"a last line that breaks off", m + "start\nPA", "PA", "", nil, false},
		{"the mark of another", m + "start\n<bochs 2> exit 0\n", "<bochs 2> exit 0\n", "", nil, false},
		{"an end without a beginning", m + "exit 0\n", "", "", &ending{0, ""}, false},
		{"only the first end counts", m + "start\n" + m + "exit 4\n" + m + "exit 0\n", "", "", &ending{4, ""}, false},
		{"killed", m + "start\n" + m + "exit 137\n", "", "", &ending{137, ""}, false},
		{"no number", m + "start\n" + m + "exit x\n", "", "", nil, false},
		{"too large a number", m + "start\n" + m + "exit 256\n", "", "", nil, false},
		{"an end that breaks off", m + "start\n" + m + "ex", "", "", nil, false},
		{"not run", m + "start\n" + m + "not run: exec format error\n", "", "", &ending{126, "exec format error"}, false},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			var out strings.Builder
			starts := 0
			s := &serialLine{mark: m, start: func() { starts++ }, line: func(b []byte) { out.Write(b) }}
			for in := []byte(c.in); len(in) > 0; in = in[min(piece, len(in)):] {
				if n, err := s.Write(in[:min(piece, len(in))]); n != min(piece, len(in)) || err != nil {
					t.Fatalf("Write returns %d, %v", n, err)
				}
			}
			s.close()
			if out.String() != c.out || s.before.String() != c.before || !reflect.DeepEqual(s.ended, c.ended) || s.failed != c.failed {
				t.Errorf("%s, by %d bytes: output %q, before it %q, ended %v, failed %v; want %q, %q, %v, %v", c.what, piece,
					out.String(), s.before.String(), s.ended, s.failed, c.out, c.before, c.ended, c.failed)
			}
			if want := strings.Count(c.in, "start\n"); starts != want {
				t.Errorf("%s: the program started %d times, want %d", c.what, starts, want)
			}
		}
	}
}
