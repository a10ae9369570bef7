package predictions

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestTablePanic: a panic in a goroutine of a table is raised by Next, so the caller can recover it. Nothing is left open.
func TestTablePanic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte("mean,sd,observed\n"+strings.Repeat("1,2,3\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*table){
		"cutting":              func(x *table) { x.files = append(x.files, nil) },
		"cutting at the start": func(x *table) { x.files[0] = nil },
		"parsing":              func(x *table) { x.layout.steps[2].slot = 1000 },
	} {
		r, err := OpenForecast([]string{path}, &ForecastOptions{Kind: metrics.Normals})
		if err != nil {
			t.Fatal(err)
		}
		x := r.from.(*table)
		was := x.files[0]
		spoil(x)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			for {
				if _, err := r.Next(); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
			}
		}()
		if _, err := r.Next(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: afterwards %v", what, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if was.text != nil { // else scan has closed it
			was.text.close()
		}
	}
}
