package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	leastWindow = 64 << 10
	mostWindow  = 4 << 20
	attempts    = 6
	longest     = 10 * time.Second // pause between attempts, unless the server says another
	mostAsked   = time.Minute      // of what a server says
)

// object is a file at a URL. What is read of it is kept in windows. Whoever reads on where a window ends gets a window twice as long, and
// the next one is fetched ahead.
type object struct {
	from          *FS
	name, address string

	once     sync.Mutex
	probed   bool
	size     int64
	tag      string // ETag, or the time of the last change
	modified time.Time

	mu      sync.Mutex
	open    int
	windows []*window // those used last at the end
}

// window is a stretch of an object.
type window struct {
	at    int64
	n     int
	ready chan struct{} // closed when data or err are there
	data  []byte
	err   error
}

func (w *window) end() int64 { return w.at + int64(w.n) }

// probe asks for the beginning, which tells the size.
func (o *object) probe() error {
	o.once.Lock()
	defer o.once.Unlock()
	if o.probed {
		return nil
	}
	b, err := o.fetch(0, leastWindow, true)
	if err != nil {
		return err
	}
	o.probed = true
	w := &window{n: len(b), data: b, ready: make(chan struct{})}
	close(w.ready)
	o.mu.Lock()
	o.windows = append(o.windows, w)
	o.mu.Unlock()
	return nil
}

// readAt is io.ReaderAt.
func (o *object) readAt(p []byte, at int64) (n int, err error) {
	if at < 0 {
		return 0, errors.New("before the beginning")
	}
	for n < len(p) {
		if at >= o.size {
			return n, io.EOF
		}
		w := o.window(at, len(p)-n)
		<-w.ready
		if w.err != nil {
			o.drop(w)
			return n, w.err
		}
		m := copy(p[n:], w.data[at-w.at:])
		n, at = n+m, at+int64(m)
	}
	return n, nil
}

// window returns the window that has a byte, or begins to fetch one. want is how many bytes are wanted from there on.
func (o *object) window(at int64, want int) *window {
	o.mu.Lock()
	defer o.mu.Unlock()
	length := max(leastWindow, want)
	var found *window
	for i, w := range o.windows {
		switch {
		case at >= w.at && at < w.end():
			found = w
			o.windows = append(append(o.windows[:i:i], o.windows[i+1:]...), w)
		case w.end() == at: // it is read on from there
			length = max(length, 2*w.n)
		}
		if found != nil {
			break
		}
	}
	if found == nil {
		found = o.begin(at, length)
	}
	// What is read from one window to the next is fetched ahead.
	if half := found.at + int64(found.n)/2; at+int64(want) > half && found.n > leastWindow && found.end() < o.size && !o.has(found.end()) {
		o.begin(found.end(), 2*found.n)
	}
	return found
}

func (o *object) has(at int64) bool {
	for _, w := range o.windows {
		if at >= w.at && at < w.end() {
			return true
		}
	}
	return false
}

// begin begins to fetch a window.
func (o *object) begin(at int64, length int) *window {
	n := int(min(int64(min(length, mostWindow)), o.size-at))
	for _, w := range o.windows { // not what is there already
		if w.at > at {
			n = int(min(int64(n), w.at-at))
		}
	}
	w := &window{at: at, n: n, ready: make(chan struct{})}
	bytes := w.n
	for i := len(o.windows) - 1; i >= 0; i-- {
		if bytes += o.windows[i].n; bytes > Memory-mostWindow {
			o.windows = append([]*window(nil), o.windows[i+1:]...)
			break
		}
	}
	o.windows = append(o.windows, w)
	go func() {
		w.data, w.err = o.fetch(w.at, w.n, false)
		close(w.ready)
	}()
	return w
}

// drop forgets a window.
func (o *object) drop(w *window) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.windows {
		if o.windows[i] == w {
			o.windows = append(o.windows[:i:i], o.windows[i+1:]...)
			return
		}
	}
}

// failure is an error that another attempt may not have.
type failure struct {
	err   error
	after time.Duration // what the server asks to wait
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fetch returns n bytes from one on, fewer only at the end of an object that is probed.
func (o *object) fetch(at int64, n int, probe bool) ([]byte, error) {
	pause := o.from.pause
	for attempt := 1; ; attempt++ {
		b, err := o.attempt(at, n, probe)
		var f *failure
		if !errors.As(err, &f) {
			return b, err
		}
		if attempt == attempts {
			return nil, fmt.Errorf("%w, at each of %d attempts", f.err, attempts)
		}
		wait := pause/2 + rand.N(pause/2+1)
		if f.after > wait {
			wait = min(f.after, mostAsked)
		}
		time.Sleep(wait)
		pause = min(2*pause, longest)
	}
}

func (o *object) attempt(at int64, n int, probe bool) ([]byte, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stalled := time.AfterFunc(o.from.stall, cancel)
	defer stalled.Stop()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, o.address, nil)
	if err != nil {
		return nil, errors.New("it is not a URL that can be asked for")
	}
	q.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", at, at+int64(n)-1))
	q.Header.Set("Accept-Encoding", "identity")
	r, err := o.from.client.Do(q)
	if errors.Is(err, errUnsafe) {
		return nil, errUnsafe
	}
	if err != nil {
		return nil, &failure{err: o.plain(ctx, err)}
	}
	defer r.Body.Close()
	size, err := o.check(r, at, n, probe)
	if err != nil {
		return nil, err
	}
	if probe {
		n = int(min(int64(n), size))
	}
	b := make([]byte, n)
	for got := 0; got < n; {
		m, err := r.Body.Read(b[got:])
		if got += m; err != nil && got < n {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, &failure{err: o.plain(ctx, err)}
		}
		stalled.Reset(o.from.stall)
	}
	if probe {
		o.size = size
		o.tag = tagOf(r)
		if t, err := http.ParseTime(r.Header.Get("Last-Modified")); err == nil {
			o.modified = t
		}
	}
	return b, nil
}

// tagOf returns what tells one version of an object from another.
func tagOf(r *http.Response) string {
	if t := r.Header.Get("ETag"); t != "" {
		return t
	}
	return r.Header.Get("Last-Modified")
}

// check returns the size of the object if a response is that of a range.
func (o *object) check(r *http.Response, at int64, n int, probe bool) (size int64, err error) {
	switch code := r.StatusCode; {
	case code == http.StatusPartialContent:
	case code == http.StatusOK && r.ContentLength == 0 && probe: // an empty file has no ranges
		return 0, nil
	case code == http.StatusOK && r.ContentLength == 0:
		return 0, errChanged
	case code == http.StatusRequestedRangeNotSatisfiable && probe && strings.HasSuffix(r.Header.Get("Content-Range"), "/0"):
		return 0, nil
	case code == http.StatusRequestedRangeNotSatisfiable:
		return 0, errChanged
	case code == http.StatusOK:
		return 0, errors.New("the server does not answer requests of ranges; read it by a pipe, as from curl, with - as its name")
	case code == http.StatusNotFound:
		return 0, fs.ErrNotExist
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return 0, fmt.Errorf("the server refuses it (%s); a presigned URL may have expired: make a new one", status(r))
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		after, _ := strconv.Atoi(r.Header.Get("Retry-After"))
		return 0, &failure{fmt.Errorf("the server answers %s", status(r)), time.Duration(max(0, after)) * time.Second}
	default:
		return 0, fmt.Errorf("the server answers %s", status(r))
	}
	var first, last int64
	if k, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%d", &first, &last, &size); k != 3 || err != nil {
		return 0, fmt.Errorf("the server answers with the range %.60q, which does not say which bytes of how many", r.Header.Get("Content-Range"))
	}
	want := min(at+int64(n), size) - 1
	if first != at || last != want {
		return 0, &failure{err: fmt.Errorf("the server answers with bytes %d to %d for bytes %d to %d", first, last, at, want)}
	}
	if !probe && (size != o.size || tagOf(r) != o.tag) {
		return 0, errChanged
	}
	return size, nil
}

var errChanged = errors.New("the file changed while it was read; wait until whoever writes it is done")

func status(r *http.Response) string {
	return strings.TrimSpace(strconv.Itoa(r.StatusCode) + " " + http.StatusText(r.StatusCode))
}

// plain returns an error without the URL, which has the credential.
func (o *object) plain(ctx context.Context, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("no answer within %v", o.from.stall)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return fmt.Errorf("the host is not found: %s", dns.Err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("the connection ended early")
	}
	if text := err.Error(); strings.Contains(text, "?") { // of a redirect, perhaps
		return errors.New("the connection failed")
	}
	return err
}
