//go:build !js

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/candor-go/candor/predictions/remote"
)

// TestURLs: files of every kind at presigned URLs give what they give as files, though every fourth request fails, and no output has the
// credential.
func TestURLs(t *testing.T) {
	d := newDir(t)
	const secret = "X-Amz-Credential=me%2Fkey&X-Amz-Signature=0123secret"
	var count atomic.Int64
	h := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != secret || r.Method != http.MethodGet {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if count.Add(1)%4 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		b, err := os.ReadFile(r.URL.Path)
		if err != nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(b)))
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}))
	defer h.Close()
	defer func(was func() *remote.FS) { remoteClient = was }(remoteClient)
	remoteClient = func() *remote.FS { return remote.New(h.Client()) }
	said := ""
	run := func(args ...string) (int, string) {
		code, out, errs := candor(t, args...)
		said += out + errs
		if code != exitDone {
			return code, errs
		}
		return code, out
	}
	// remotely replaces files by their URLs.
	remotely := func(args []string) (l []string) {
		for _, a := range args {
			file, column, _ := strings.Cut(a, ":")
			if fi, err := os.Stat(file); err == nil && !fi.IsDir() {
				path, err := filepath.Abs(file)
				if err != nil {
					t.Fatal(err)
				}
				if a = h.URL + path + "?" + secret; column != "" {
					a += ":" + column
				}
			}
			l = append(l, a)
		}
		return l
	}
	for name, args := range dividedRuns(t, d) {
		for _, a := range args { // a file that is described
			if fi, err := os.Stat(a); err != nil || fi.IsDir() {
				continue
			}
			was := count.Load()
			want, address := printed(t, "inspect", a), remotely([]string{a})
			code, got := run("inspect", address[0])
			if open, _, _ := strings.Cut(address[0], "?"); code != exitDone || strings.ReplaceAll(got, open, a) != want || count.Load() == was {
				t.Errorf("inspect %s: %d: %s\nwant %s", a, code, got, want)
			}
		}
		want := printed(t, append([]string{"eval", "--json"}, args...)...)
		code, got := run(append([]string{"eval", "--json"}, remotely(args)...)...)
		if code != exitDone || got != want {
			t.Errorf("%s: %d, %s", name, code, differing(got, want))
		}
	}
	s := newSet(61, 300, 3)
	x, y := d.put("a.npy", s.scores(t)), d.put("b.npy", s.labelFile(t))
	again := d.put("c.npy", s.scores(t))
	local := []string{x, again, "--labels", y + "," + y}
	url := func(path string) string { return h.URL + path + "?" + secret }
	far := []string{"--files-from", d.put("list", []byte(url(x)+"\n"+url(again)+"\n")), "--labels", url(y) + "," + url(y)}
	whole := printed(t, append([]string{"eval", "--json", "--state", d.at("whole")}, local...)...)
	for i := range 3 {
		if code, errs := run(append([]string{"eval", "--shard", fmt.Sprintf("%d/3", i), "--state", d.at(fmt.Sprint(i))}, far...)...); code != exitDone {
			t.Fatal(errs)
		}
	}
	if _, got := run("merge", d.at("0"), d.at("1"), d.at("2"), "--expect", "3", "--json", "-o", d.at("all")); got != whole || !bytes.Equal(read(t, d.at("all")), read(t, d.at("whole"))) {
		t.Errorf("shards: %s", differing(got, whole))
	}
	flags := append([]string{"eval", "--json", "--checkpoint", d.at("checkpoint"), "--checkpoint-every", "1ns", "--resume", "--on-invalid", "drop"}, far...)
	if !interrupted(t, 1, flags...) {
		t.Fatal("no checkpoint")
	}
	said += string(read(t, d.at("checkpoint")))
	if code, got := run(flags...); code != exitDone || got != whole {
		t.Errorf("resumed: %s", differing(got, whole))
	}
	table := d.put("t.csv", s.table("p_", animals))
	other := d.put("other.npy", newSet(62, 300, 3).scores(t))
	for _, args := range [][]string{
		{"compare", x, other, "--labels", y, "--json"},
		{"compare", x, other, "--labels", y, "--baseline", "a"},
		{"recal", "fit", "temperature", x, "--labels", y, "--json"},
		{"recal", "fit", "vector", table, "--prob-prefix", "p_", "--label", "label", "--json"},
	} {
		want := printed(t, args...)
		if code, got := run(remotely(args)...); code != exitDone || strings.ReplaceAll(got, h.URL, "") != want {
			t.Errorf("%v: %d, %s", args, code, differing(got, want))
		}
	}
	m := d.at("map.json")
	printed(t, "recal", "fit", "temperature", x, "--labels", y, "-o", m)
	for _, args := range [][]string{{"score", x, "--labels", y}, {"score", table, "--prob-prefix", "p_", "--label", "label", "--keep", "label"}, {"recal", "apply", m, x}} {
		printed(t, append(slices.Clone(args), "-o", d.at("near.csv"))...)
		far := remotely(args)
		if args[0] == "recal" {
			far[2] = m // a map is a file
		}
		if code, errs := run(append(far, "-o", d.at("far.csv"))...); code != exitDone || !bytes.Equal(read(t, d.at("near.csv")), read(t, d.at("far.csv"))) {
			t.Errorf("%v: %d, %s", args, code, errs)
		}
	}
	bad := d.put("bad.npy", s.with(7, 1, -1).scores(t))
	none := h.URL + d.at("none.npy") + "?" + secret
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"eval", url(bad), "--labels", url(y)}, "bad.npy: row 7, column 1: probability is -1"},
		{[]string{"eval", none, "--labels", y}, "none.npy: no such file"},
		{[]string{"eval", url(x) + "x", "--labels", y}, "a presigned URL may have expired"},
		{[]string{"eval", url(x), url(x) + "x", "--labels", y}, "two URLs differ only in what follows the question mark"},
		{[]string{"eval", "s3://bucket/a.npy", "--labels", y}, "candor reads an object store by presigned URLs"},
		{[]string{"eval", "https://?" + secret, "--labels", y}, "it is not a URL"},
		{[]string{"inspect", none}, "none.npy: no such file"},
		{[]string{"merge", d.at("whole"), url(d.at("whole"))}, "states are files, and not read from URLs"},
		{[]string{"compare", url(x), "s3://bucket/a.npy", "--labels", y}, "candor reads an object store by presigned URLs"},
		{[]string{"recal", "fit", "temperature", none, "--labels", y}, "none.npy: no such file"},
		{[]string{"score", url(x), "--metrics", "nll", "-o", d.at("o.npy")}, ""},
		{[]string{"eval", x, "--labels", y, "--state", url(x)}, ""},
	} {
		for _, form := range [][]string{nil, {"--json"}} {
			if code, errs := run(append(c.args, form...)...); code == exitDone || !strings.Contains(errs, c.want) {
				t.Errorf("%v: %d, %s", c.args, code, errs)
			}
		}
	}
	if i := strings.Index(said, "0123secret"); i >= 0 {
		t.Errorf("the credential is told: %s", said[max(0, i-300):i])
	}
}
