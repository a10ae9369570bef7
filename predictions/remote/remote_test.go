package remote

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"
)

const secret = "X-Amz-Signature=0123secret"

// server serves data, and has faults.
type server struct {
	data   []byte
	tag    string
	count  atomic.Int64
	fault  func(n int64, w http.ResponseWriter, r *http.Request) bool // reports whether it has answered
	mu     sync.Mutex
	ranges []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.count.Add(1)
	s.mu.Lock()
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	tag, data := s.tag, s.data
	s.mu.Unlock()
	if r.Method != http.MethodGet || r.URL.RawQuery != secret {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if s.fault != nil && s.fault(n, w, r) {
		return
	}
	if tag != "" {
		w.Header().Set("ETag", tag)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func serve(t *testing.T, s *server) (*FS, string) {
	t.Helper()
	h := httptest.NewTLSServer(s)
	t.Cleanup(h.Close)
	f := New(h.Client())
	f.pause, f.stall = time.Millisecond, 300*time.Millisecond
	name, err := f.Add(h.URL + "/bucket/a.npy?" + secret)
	if err != nil {
		t.Fatal(err)
	}
	if name != h.URL+"/bucket/a.npy" {
		t.Fatalf("the name is %s", name)
	}
	return f, name
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(b)
	return b
}

// TestRead: a file has the bytes of the object, read in order and at any place, by one and by several.
func TestRead(t *testing.T) {
	for _, n := range []int{0, 1, leastWindow - 1, leastWindow, leastWindow + 1, 3<<20 + 17, 40 << 20} {
		s := &server{data: noise(n), tag: `"1"`}
		f, name := serve(t, s)
		i, err := f.Stat(name)
		if err != nil || i.Size() != int64(n) || !i.Mode().IsRegular() || i.Name() != "a.npy" {
			t.Fatalf("%d bytes: %v, %v", n, i, err)
		}
		o, err := f.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(o); err != nil || !bytes.Equal(got, s.data) {
			t.Fatalf("%d bytes: %d read, %v", n, len(got), err)
		}
		if got := s.count.Load(); got > 24 {
			t.Errorf("%d bytes in order take %d requests", n, got)
		}
		var wait sync.WaitGroup
		for g := range 4 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				r := rand.New(rand.NewPCG(uint64(g), 1))
				for range 50 {
					at, k := r.Int64N(int64(n)+1), r.IntN(1<<uint(r.IntN(21)))
					p := make([]byte, k)
					m, err := o.(io.ReaderAt).ReadAt(p, at)
					want := min(int64(k), int64(n)-at)
					if int64(m) != want || (err == io.EOF) != (want < int64(k)) || err != nil && err != io.EOF || !bytes.Equal(p[:m], s.data[at:at+want]) {
						t.Errorf("%d bytes at %d of %d: %d, %v", k, at, n, m, err)
						return
					}
				}
			}()
		}
		wait.Wait()
		if n == 3<<20+17 {
			if err := iotest.TestReader(io.NewSectionReader(o.(io.ReaderAt), 5, 1000), s.data[5:1005]); err != nil {
				t.Error(err)
			}
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFaults: what may pass is tried again; what does not is an error that says what it is, without the credential.
func TestFaults(t *testing.T) {
	drop := func(w http.ResponseWriter, after int) {
		c, b, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		if after >= 0 {
			fmt.Fprintf(b, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-65535/3000000\r\nContent-Length: 65536\r\n\r\n%s", strings.Repeat("x", after))
			b.Flush()
		}
		c.Close()
	}
	every := func(k int64, bad func(w http.ResponseWriter, r *http.Request)) func(int64, http.ResponseWriter, *http.Request) bool {
		return func(n int64, w http.ResponseWriter, r *http.Request) bool {
			if n%k != 0 {
				bad(w, r)
				return true
			}
			return false
		}
	}
	for _, c := range []struct {
		name string
		bad  func(w http.ResponseWriter, r *http.Request)
		err  string // if it never passes; "" if attempts end its
	}{
		{"503", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(503) }, "the server answers 503 Service Unavailable, at each of 6 attempts"},
		{"429", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Retry-After", "0"); w.WriteHeader(429) }, "429 Too Many Requests, at each"},
		{"no connection", func(w http.ResponseWriter, r *http.Request) { drop(w, -1) }, "the connection ended early, at each"},
		{"a connection that drops", func(w http.ResponseWriter, r *http.Request) { drop(w, 1000) }, "the connection ended early, at each"},
		{"another range", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 7-65542/3000000")
			w.WriteHeader(206)
		}, "the server answers with bytes 7 to 65542 for bytes 0 to 65535, at each"},
		{"silence", func(w http.ResponseWriter, r *http.Request) { time.Sleep(400 * time.Millisecond) }, "no answer within 300ms, at each"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{data: noise(3_000_000), fault: every(3, c.bad)}
			f, name := serve(t, s)
			b, err := fs.ReadFile(f, name)
			if err != nil || !bytes.Equal(b, s.data) {
				t.Errorf("of each three requests two fail: %d bytes, %v", len(b), err)
			}
			s = &server{data: s.data, fault: every(1<<40, c.bad)}
			f, name = serve(t, s)
			_, err = f.Open(name)
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret") || s.count.Load() != attempts {
				t.Errorf("all fail: %v after %d", err, s.count.Load())
			}
		})
	}
	for _, c := range []struct {
		name string
		bad  func(w http.ResponseWriter, r *http.Request)
		err  string
	}{
		{"no ranges", func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 100)) }, "does not answer requests of ranges; read it by a pipe"},
		{"403", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) }, "403 Forbidden); a presigned URL may have expired"},
		{"404", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(404) }, "not exist"},
		{"400", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(400) }, "the server answers 400 Bad Request"},
		{"no range", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 0-9/*")
			w.WriteHeader(206)
		}, "does not say which bytes"},
		{"a redirect that fails", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "ftp://x/y?secret")
			w.WriteHeader(302)
		}, "connection"},
	} {
		s := &server{data: noise(100), fault: every(1<<40, c.bad)}
		f, name := serve(t, s)
		_, err := f.Open(name)
		if err == nil || !strings.Contains(err.Error(), c.err) && c.err != "connection" || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.err != "connection" && s.count.Load() != 1 {
			t.Errorf("%s: %d attempts", c.name, s.count.Load())
		}
	}
}

// TestRedirect: another server that a request is sent on to does not learn the credential, and is not asked in clear what was asked in secret.
func TestRedirect(t *testing.T) {
	data := noise(100_000)
	var referers atomic.Int64
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Referer() != "" || strings.Contains(r.URL.String(), "secret") {
			referers.Add(1)
		}
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(data))
	})
	clear := httptest.NewServer(answer)
	defer clear.Close()
	secure := httptest.NewTLSServer(answer)
	defer secure.Close()
	for _, c := range []struct {
		name string
		from func(http.Handler) *httptest.Server
		to   string
		err  string
	}{
		{"http to http", httptest.NewServer, clear.URL, ""},
		{"https to https", httptest.NewTLSServer, secure.URL, ""},
		{"https to http", httptest.NewTLSServer, clear.URL, "the server redirects from https to http"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.from(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, c.to+"/object", http.StatusFound) }))
			defer s.Close()
			f := New(s.Client()) // which trusts the certificate of secure too: all test servers have the same
			name, err := f.Add(s.URL + "/data?secret=1")
			if err != nil {
				t.Fatal(err)
			}
			b, err := fs.ReadFile(f, name)
			if c.err == "" && (err != nil || !bytes.Equal(b, data)) {
				t.Errorf("%d bytes, %v", len(b), err)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v; want %q", err, c.err)
			}
			if n := referers.Load(); n != 0 {
				t.Errorf("%d requests have told the other server the URL", n)
			}
		})
	}
}

// TestChanged: an object that another replaces meanwhile is an error, of the same size too.
func TestChanged(t *testing.T) {
	for _, change := range []func(s *server){
		func(s *server) { s.tag = `"2"` },
		func(s *server) { s.data = noise(2_999_999) },
		func(s *server) { s.data = nil },
	} {
		s := &server{data: noise(3_000_000), tag: `"1"`}
		f, name := serve(t, s)
		o, err := f.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		change(s)
		s.mu.Unlock()
		if _, err := io.ReadAll(o); !errors.Is(err, errChanged) {
			t.Errorf("%v", err)
		}
	}
}

func TestNames(t *testing.T) {
	f := New(nil)
	name, err := f.Add("https://user:word@host:8/a%20b/c.npz?sig=1#x")
	if err != nil || name != "https://host:8/a%20b/c.npz" {
		t.Errorf("%s, %v", name, err)
	}
	if _, err := f.Add("https://host/c.npz?sig=1"); err != nil {
		t.Error(err)
	}
	if _, err := f.Add("https://host/c.npz?sig=2"); err == nil || strings.Contains(err.Error(), "sig") {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"s3://bucket/x", "https://", "https://%zz/", "a.npy", "https:/x?secret"} {
		if name, err := f.Add(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s is %s, %v", bad, name, err)
		}
	}
	if _, err := f.Open("no such file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if b, err := fs.ReadFile(f, "remote_test.go"); err != nil || len(b) == 0 {
		t.Errorf("a file of the system: %v", err)
	}
	if f.Len() != 2 {
		t.Errorf("%d URLs", f.Len())
	}
}
