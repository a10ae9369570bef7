package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	// The cache folder of each system that has one by a variable; elsewhere it is somewhere in HOME.
	dir := t.TempDir()
	for _, v := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(v, dir)
	}
	stderr := os.Stderr
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = null // for the usage
	t.Cleanup(func() { os.Stderr = stderr; null.Close() })

	o, err := parse([]string{"-json", "j", "-p", "a/b", "-limit", "90s", "-tmp=t", "-kernel", "k", "-times", "s", "-still", "1m", "prog", "-limit", "x", "--", "-json"})
	if err != nil {
		t.Fatal(err)
	}
	if o.json != "j" || o.pkg != "a/b" || o.limit != 90*time.Second || o.tmp != "t" || o.kernel != "k" || o.times != "s" || o.still != time.Minute ||
		!slices.Equal(o.command, []string{"prog", "-limit", "x", "--", "-json"}) {
		t.Errorf("got %+v", o)
	}
	o, err = parse([]string{"prog"})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(cache, "candor", "bochs", "vmlinuz"); o.kernel != want || o.limit <= 0 || o.still <= 0 || o.json != "" || !slices.Equal(o.command, []string{"prog"}) {
		t.Errorf("got %+v, want kernel %s", o, want)
	}
	for _, args := range [][]string{{}, {"-limit", "5"}, {"-limit", "0s", "prog"}, {"-still", "-1s", "prog"}, {"-unknown", "prog"}, {"-json"}} {
		if _, err := parse(args); err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q: error %v", args, err)
		}
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: error %v", err)
	}
}
