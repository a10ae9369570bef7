package predictions

import (
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/candor-go/candor/metrics"
)

// once is a file system whose files are read once, from their beginning.
type once struct{ fstest.MapFS }

func (o once) Open(name string) (fs.File, error) {
	f, err := o.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	return struct{ fs.File }{f}, nil
}

// Files of a file system give what files of the operating system give. What is stored needs no temporary file for it.
func TestFileSystem(t *testing.T) {
	const n, k = 1000, 6
	labels := npy(1, "<i4", false, []int{n}, label(k))
	for _, fortran := range []bool{false, true} {
		scores := npy(1, "<f4", fortran, []int{n, k}, score)
		files := fstest.MapFS{
			"s.npy":        {Data: scores},
			"l.npy":        {Data: labels},
			"in/a.npz":     {Data: npz(false, entry{"probs.npy", scores}, entry{"labels.npy", labels}, entry{"w.npy", npy(1, "<f8", false, []int{n}, ones)})},
			"z.npz":        {Data: npz(true, entry{"probs.npy", scores}, entry{"labels.npy", labels})},
			"z.npz:colon":  {Data: scores},
			"two.npz":      {Data: npz(false, entry{"x.npy", scores}, entry{"y.npy", labels})},
			"damaged.npz":  {Data: npz(false, entry{"probs.npy", scores}, entry{"labels.npy", labels})[:5000]},
			"flipped.npz":  {Data: npz(false, entry{"probs.npy", scores}, entry{"labels.npy", labels})},
			"sealed/a.npy": {Data: scores, Mode: fs.ModeNamedPipe},
		}
		files["flipped.npz"].Data[9000] ^= 1
		spools := func(spool bool) {
			if t.Setenv("TMPDIR", t.TempDir()); !spool {
				t.Setenv("TMPDIR", "/nowhere")
			}
		}
		for _, c := range []struct {
			path, labels string
			spool        bool // a temporary file is needed for an array in Fortran order
		}{
			{"s.npy", "l.npy", false},
			{"in/a.npz", "", false},
			{"in/a.npz:probs", "l.npy", false},
			{"in/a.npz", "two.npz:y", false},
			{"two.npz:x", "two.npz:y.npy", false},
			{"z.npz", "", true},
			{"z.npz:colon", "l.npy", false},
			{"sealed/a.npy", "l.npy", true},
		} {
			spools(c.spool)
			o := &Options{FS: files, BufferBytes: 3000}
			if c.labels != "" {
				o.Labels = []string{c.labels}
			}
			got, info, err := readAll([]string{c.path}, o)
			if err != nil {
				t.Errorf("%s, fortran %v: %v", c.path, fortran, err)
				continue
			}
			wantRows(t, got, n, k)
			if info.Rows != n {
				t.Errorf("%s: %+v", c.path, info)
			}
		}
		spools(true)
		for _, c := range []struct {
			from   fs.FS
			path   string
			labels string
			want   string
		}{
			{files, "none.npy", "l.npy", "none.npy: no such file"},
			{files, "s.npy:x", "l.npy", "is not an .npz with an array"},
			{files, "z.npz:none", "l.npy", `z.npz has no array "none"; it has probs float32 (1000, 6), labels int32 (1000,)`},
			{files, "in", "l.npy", "in: is a directory"},
			{files, "damaged.npz", "", "truncated or damaged .npz"},
			{files, "flipped.npz", "", "the data do not match their CRC-32"},
			{files, "two.npz", "l.npy", "none of its arrays is named like scores"},
			{once{files}, "in/a.npz", "", "an .npz needs random access"},
			{files, "s.npy", "none.npy", "none.npy: no such file"},
		} {
			o := &Options{FS: c.from}
			if c.labels != "" {
				o.Labels = []string{c.labels}
			}
			_, _, err := readAll([]string{c.path}, o)
			wantError(t, err, c.want)
		}
		got, _, err := readAll([]string{"s.npy"}, &Options{FS: once{files}, Labels: []string{"l.npy"}})
		if err != nil {
			t.Fatal(err)
		}
		wantRows(t, got, n, k)

		// A file that is another one when the rows are read.
		for _, change := range []func(){
			func() { files["s.npy"] = &fstest.MapFile{Data: scores, ModTime: time.Unix(1, 0)} },
			func() { files["s.npy"] = &fstest.MapFile{Data: scores[:len(scores)-1]} },
			func() { delete(files, "s.npy") },
		} {
			files["s.npy"] = &fstest.MapFile{Data: scores}
			r, err := Open([]string{"s.npy"}, &Options{FS: files, Labels: []string{"l.npy"}})
			if err != nil {
				t.Fatal(err)
			}
			change()
			if _, err = drain(r); err == nil {
				t.Error("a changed file is read")
			} else {
				wantError(t, err, "s.npy: ")
			}
			r.Close()
		}
	}
}

// The arrays of forecasts in an .npz of a file system.
func TestFileSystemForecasts(t *testing.T) {
	vector := func(at float64) []byte {
		return npy(1, "<f8", false, []int{3}, func(i int) float64 { return at + float64(i) })
	}
	files := fstest.MapFS{"n.npz": {Data: npz(true, entry{"mean.npy", vector(1)}, entry{"sd.npy", vector(2)}, entry{"observed.npy", vector(4)})}}
	got, _, err := readForecast([]string{"n.npz"}, &ForecastOptions{Kind: metrics.Normals, FS: files})
	if err != nil {
		t.Fatal(err)
	}
	wantValues(t, "values", got.values, 1, 2, 4, 2, 3, 5, 3, 4, 6)
	_, _, err = readForecast([]string{"n.npz"}, &ForecastOptions{Kind: metrics.Normals, FS: files, SD: "none"})
	wantError(t, err, `no array "none" of standard deviations`)
}
