package predictions

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/metrics"
)

// Array describes one array of a file, from its header.
type Array struct {
	Name      string  // of the member in an .npz, or of the file; without ".npy"
	Descr     string  // the type as the header writes it: "<f4"
	DType     string  // NumPy's name of the type: "float32"; "structured", "object" or "unknown" for types that are not numbers
	Shape     []int64 // empty for a single value
	Fortran   bool    // column-major (Fortran) order
	BigEndian bool    // big-endian
	Bytes     int64   // of data, after decompression; -1 if unknown (objects from a pipe)
	Version   string  // of the .npy format: "1.0", "2.0", "3.0"
	Deflated  bool    // compressed inside an .npz
}

// Inspect returns the arrays of the file at path, in the file's order. It reads headers only.
//
// path is an .npy, an .npz, one array of an .npz ("preds.npz:logits"), or "-" for an .npy on standard input. It may be a pipe. Arrays
// that cannot be evaluated (objects, strings, records) are listed too. A file whose length does not match its headers is an *Error.
func Inspect(path string) ([]Array, error) { return InspectIn(nil, path) }

// InspectIn is Inspect of a file that from opens; nil is the system.
func InspectIn(from fs.FS, path string) ([]Array, error) {
	c, e := openContainer(from, path, nil)
	if e != nil {
		return nil, e
	}
	return c.describe()
}

// InspectReader is like Inspect, for an .npy that r reads. Messages call it name.
func InspectReader(r io.Reader, name string) ([]Array, error) {
	c, e := streamContainer(name, r, nil, nil)
	if e != nil {
		return nil, e
	}
	return c.describe()
}

// describe closes the container, unless it is standard input.
func (c *container) describe() ([]Array, error) {
	defer c.close()
	var out []Array
	for i := range c.members {
		a, e := c.load(i)
		if e != nil {
			return nil, e
		}
		if e := a.checkLength(); e != nil {
			return nil, e
		}
		out = append(out, a.describe())
	}
	return out, nil
}

// array is the header of one array, and where its data is.
type array struct {
	header
	file  string // for messages: the path, with ":member" for one array of several
	path  string
	name  string // of the member or the file, without ".npy"
	entry int    // index in the zip directory; -1 for an .npy

	from     fs.FS // where path is opened again; nil for the operating system
	stamp    stamp // of the file at path, to detect changes; unset for a pipe
	avail    int64 // bytes of data that are present; -1 for a pipe
	deflated bool

	// For some of the rows: those that are not read before them, and how many the file has; 0 if all are read.
	skip, full int64

	// For the array of an ensemble: stated is the shape in its header, shape the one it is read with. planes means that each member is
	// contiguous, so that a row lies in as many places as there are members.
	stated []int64
	planes bool

	stream io.Reader // the rest of a pipe after the header, since a pipe cannot be opened twice; else nil
	closer io.Closer // the pipe, unless it is standard input
}

func (a *array) describe() Array {
	n, known := a.bytes()
	if a.dtype.size == 0 || !known {
		n = a.avail
	}
	return Array{
		Name: a.name, Descr: a.descr, DType: a.dtype.String(), Shape: slices.Clone(a.shape), Fortran: a.fortran,
		BigEndian: a.dtype.big && a.dtype.size > 1, Bytes: n, Version: fmt.Sprintf("%d.%d", a.major, a.minor), Deflated: a.deflated,
	}
}

// rows returns the length of the first axis; 0 for a single value.
func (a *array) rows() int64 {
	if len(a.shape) == 0 {
		return 0
	}
	return a.shape[0]
}

// columns returns the length of the second axis; 1 for a vector.
func (a *array) columns() int64 {
	if len(a.shape) < 2 {
		return 1
	}
	return a.shape[1]
}

// columnMajor reports whether the values of a row lie apart. A vector is the same in both orders.
func (a *array) columnMajor() bool { return a.fortran && a.rows() > 1 && a.columns() > 1 }

// scattered reports whether a row is assembled from several places of the data.
func (a *array) scattered() bool { return a.columnMajor() || a.planes }

// headerShape returns the shape in the header.
func (a *array) headerShape() []int64 {
	if a.stated != nil {
		return a.stated
	}
	return a.shape
}

// checkLength compares the header's shape with the number of bytes present.
func (a *array) checkLength() *Error {
	if a.dtype.size == 0 {
		return nil
	}
	want, ok := a.bytes()
	if !ok {
		return fault(again, "damaged header: its shape %s of %s is larger than any file", shapeText(a.shape), a.dtype).in(a.file)
	}
	switch {
	case a.avail < 0 || a.avail == want:
		return nil
	case a.avail < want:
		return a.truncated(a.avail)
	}
	return fault("an .npy file holds one array: save each in a file of its own, or all in an .npz",
		"too long: header says %s %s = %d bytes of data, file has %d", timesText(a.shape), a.dtype, want, a.avail).in(a.file)
}

// truncated returns the Error of data that ends after have bytes.
func (a *array) truncated(have int64) *Error {
	want, _ := a.bytes()
	first := ""
	if !a.scattered() && a.stated == nil && a.rows() > 0 && want > 0 {
		first = fmt.Sprintf(" (row %d is the first incomplete one)", have/(want/a.rows()))
	}
	return fault(again, "truncated: header says %s %s = %d bytes of data, file has %d%s",
		timesText(a.headerShape()), a.dtype, want, have, first).in(a.file).because(io.ErrUnexpectedEOF)
}

// container is an open file: one .npy, or a zip of several.
type container struct {
	names   names
	from    fs.FS  // nil for the operating system
	path    string // what is open: the caller's path without ":member"
	shown   string // the path as the caller wrote it
	npz     bool
	members []member // of an .npy: its one array
	file    fileAt   // nil for a pipe
	stamp   stamp
	zip     *zip.Reader
}

// member is an array of a container. Its header is read on demand.
type member struct {
	name  string
	entry int
	array *array
}

// openContainer opens path and reads the header if it is an .npy. The caller closes it. What cannot be read at any place, as a pipe, stays
// open in its array.
func openContainer(from fs.FS, path string, n names) (*container, *Error) {
	if path == "-" {
		return streamContainer(path, os.Stdin, nil, n)
	}
	c := &container{names: n, from: from, path: path, shown: path}
	pick := ""
	fi, err := statFile(from, path)
	// A file whose name has a colon takes precedence over an array of an .npz.
	for i := len(path); err != nil && errors.Is(err, fs.ErrNotExist); {
		if i = strings.LastIndexByte(path[:i], ':'); i <= 0 {
			break
		}
		if fi2, err2 := statFile(from, path[:i]); err2 == nil {
			c.path, pick, fi, err = path[:i], path[i+1:], fi2, nil
		}
	}
	if err != nil {
		return nil, cannotOpen(err).in(n.of(path))
	}
	if fi.IsDir() {
		return nil, fault("name its files, as in "+filepath.Join(path, "*.npy"), "is a directory").in(n.of(path))
	}
	opened, err := openFile(from, c.path)
	if err != nil {
		return nil, cannotOpen(err).in(n.of(path))
	}
	f, ok := opened.(fileAt)
	if !ok || !fi.Mode().IsRegular() {
		return streamContainer(path, opened, opened, n)
	}
	c.file, c.stamp = f, stampOf(fi)
	var start [4]byte
	m, err := f.ReadAt(start[:], 0)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, cannotRead(err).in(n.of(path))
	}
	if s := string(start[:m]); s == "PK\x03\x04" || s == "PK\x05\x06" {
		if e := c.openZip(pick); e != nil {
			f.Close()
			return nil, e.in(n.of(path))
		}
		return c, nil
	}
	if pick != "" {
		f.Close()
		return nil, fault("", "there is no such file, and %s is not an .npz with an array %q", n.of(c.path), pick).in(n.of(path)).because(fs.ErrNotExist)
	}
	a := &array{file: n.of(path), path: path, name: baseName(n.of(path)), entry: -1, from: from, stamp: c.stamp}
	var e *Error
	if a.header, e = readHeader(io.NewSectionReader(f, 0, c.stamp.size), c.stamp.size, path); e != nil {
		f.Close()
		return nil, e.in(a.file)
	}
	a.avail = c.stamp.size - a.header.size
	c.members = []member{{a.name, -1, a}}
	return c, nil
}

// streamContainer reads the header of an .npy from a pipe.
func streamContainer(path string, r io.Reader, closer io.Closer, n names) (*container, *Error) {
	a := &array{file: n.of(path), path: path, name: baseName(n.of(path)), entry: -1, avail: -1, stream: r, closer: closer}
	if _, named := n[path]; path == "-" && !named {
		a.name = path
	}
	var e *Error
	if a.header, e = readHeader(r, -1, path); e != nil {
		if closer != nil {
			closer.Close()
		}
		return nil, e.in(a.file)
	}
	return &container{names: n, path: path, shown: path, members: []member{{a.name, -1, a}}}, nil
}

func baseName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".npy") }

// cannotOpen explains why a file cannot be opened.
func cannotOpen(err error) *Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault("check the name and the folder", "no such file").because(err)
	case errors.Is(err, fs.ErrPermission):
		return fault("ask its owner, or chmod +r", "no permission to read it").because(err)
	}
	return cannotRead(err)
}

// openZip reads the directory of an .npz. If pick is set, only the array of that name becomes a member.
func (c *container) openZip(pick string) *Error {
	c.npz = true
	var e *Error
	if c.zip, e = readZip(c.file, c.stamp.size); e != nil {
		return e
	}
	if k := looksZipped(c.zip); k.what != "" {
		return fault(remedyOf(k.remedy, c.path), notArray+"%s", k.what)
	}
	for i, f := range c.zip.File {
		if e := c.checkName(f); e != nil {
			return e
		}
		if name, ok := strings.CutSuffix(f.Name, ".npy"); ok && (pick == "" || pick == name || pick == f.Name) {
			c.members = append(c.members, member{name: name, entry: i})
		}
	}
	switch {
	case len(c.members) == 0 && pick != "":
		all := &container{names: c.names, from: c.from, path: c.path, shown: c.path, file: c.file, stamp: c.stamp}
		if e := all.openZip(""); e != nil {
			return e
		}
		return fault("", "%s has no array %q; it has %s", c.names.of(c.path), pick, all.list())
	case len(c.members) == 0:
		return fault(`write one with numpy.savez("preds.npz", probs=probs, labels=labels)`, "a zip file without arrays (.npy members)")
	case len(c.members) > 1 && pick != "":
		return fault(`write it again with numpy.savez`, "it has %d arrays named %q", len(c.members), pick)
	}
	return nil
}

// readZip reads the directory of a zip file.
func readZip(f io.ReaderAt, size int64) (*zip.Reader, *Error) {
	z, err := zip.NewReader(f, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are compared, never opened
		if errors.Is(err, zip.ErrFormat) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fault("copy it again, or write it again with numpy.savez", "truncated or damaged .npz: the zip directory at its end is missing or broken").because(err)
		}
		return nil, cannotRead(err)
	}
	return z, nil
}

// close closes the file. Pipes stay open in their arrays until the Reader closes them.
func (c *container) close() {
	if c.file != nil {
		c.file.Close()
	}
}

// load returns the i-th array, with its header read.
func (c *container) load(i int) (*array, *Error) {
	m := &c.members[i]
	if m.array != nil {
		return m.array, nil
	}
	f := c.zip.File[m.entry]
	a := &array{file: c.names.of(c.path + ":" + m.name), path: c.path, name: m.name, entry: m.entry, from: c.from, stamp: c.stamp, deflated: f.Method != zip.Store}
	if e := a.checkEntry(f); e != nil {
		return nil, e.in(a.file)
	}
	r, err := f.Open()
	if err != nil {
		return nil, damaged(err).in(a.file)
	}
	defer r.Close()
	length := int64(min(f.UncompressedSize64, 1<<62))
	var e *Error
	if a.header, e = readHeader(r, length, ""); e != nil {
		if e.err != nil {
			e = damaged(e.err)
		}
		return nil, e.in(a.file)
	}
	a.avail = length - a.header.size
	m.array = a
	return a, nil
}

// checkEntry refuses zip members that cannot be read.
func (a *array) checkEntry(f *zip.File) *Error {
	switch {
	case f.Flags&1 != 0:
		return fault("write it again with numpy.savez_compressed", "it is encrypted")
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fault("write it again with numpy.savez_compressed", "its compression (zip method %d) is not supported: stored and deflated members are", f.Method)
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return fault("copy it again, or write it again with numpy.savez", "damaged .npz: the member takes %d bytes stored, but %d uncompressed", f.CompressedSize64, f.UncompressedSize64)
	}
	return nil
}

// checkName refuses a member whose name in the directory is not the one before its data. The directory has no checksum, and a damaged name would
// hide an array, or make it another.
func (c *container) checkName(f *zip.File) *Error {
	const head, most = 30, 4096 // of the header before the data, and of the extra field behind its name
	at, err := f.DataOffset()
	if err != nil {
		return damaged(err)
	}
	from := max(0, at-int64(head+len(f.Name)+most))
	b := make([]byte, at-from)
	if _, err := c.file.ReadAt(b, from); err != nil {
		return cannotRead(err)
	}
	for extra := 0; extra <= most; extra++ {
		i := len(b) - extra - len(f.Name) - head
		if i < 0 {
			break
		}
		h := b[i:]
		if string(h[:4]) == "PK\x03\x04" && int(binary.LittleEndian.Uint16(h[26:])) == len(f.Name) && int(binary.LittleEndian.Uint16(h[28:])) == extra && string(h[head:head+len(f.Name)]) == f.Name {
			return nil
		}
	}
	return fault("copy it again, or write it again with numpy.savez", "damaged .npz: its directory names a member %q, and the header before the data another", f.Name)
}

// list returns the names of the arrays with their types and shapes, for messages.
func (c *container) list() string {
	const most = 20
	var s []string
	for i, m := range c.members {
		if i == most {
			s = append(s, fmt.Sprintf("%d more", len(c.members)-most))
			break
		}
		if a, e := c.load(i); e != nil {
			s = append(s, m.name+" (unreadable)")
		} else {
			s = append(s, m.name+" "+a.dtype.String()+" "+shapeText(a.shape))
		}
	}
	return strings.Join(s, ", ")
}

// role is what an array is used for, with the names that it usually has in an .npz.
type role struct {
	what    string
	setting setting.Setting // of the files that may hold it, if there is one
	names   []string
	classes bool // the values are class numbers
}

// variable returns a name for it in Python code.
func (ro role) variable() string { return strings.NewReplacer(" ", "_", "-", "_").Replace(ro.what) }

var (
	scoresNames = []string{"logits", "log_probs", "logprobs", "probs", "probabilities", "preds", "predictions", "scores", "y_prob",
		"y_score", "p", "arr_0"}
	labelsRole       = role{"labels", setting.Labels, []string{"labels", "label", "y", "y_true", "targets", "target", "arr_1"}, true}
	observationsRole = role{"observations", setting.Observations, []string{"obs", "observed", "observations", "y", "y_true", "targets", "target", "arr_1"}, false}
	weightsRole      = role{"weights", setting.Weights, []string{"weights", "sample_weight"}, false}
	decisionsRole    = role{"decisions", setting.Decisions, []string{"decisions", "decision", "y_pred", "labels_predicted"}, true}
	confidenceRole   = role{"confidence scores", setting.ConfidenceScores, []string{"confidence_scores", "confidence_score", "custom_binning_score"}, false}
)

// Roles of the vectors of normal forecasts.
var (
	meansRole     = role{"means", "", []string{"mean", "means", "mu"}, false}
	sdsRole       = role{"standard deviations", "", []string{"sd", "sds", "std", "sigma"}, false}
	risksRole     = role{"probabilities of the event", "", []string{"risks", "risk", "survival", "surv", "probs", "preds", "predictions", "scores", "arr_0"}, false}
	timesRole     = role{"times", "", []string{"time", "times", "duration", "durations", "t"}, false}
	eventsRole    = role{"events", "", []string{"event", "events", "status", "observed", "e"}, false}
	errorsRole    = role{"errors", "", []string{"error", "errors"}, false}
	bytesRole     = role{"bytes", setting.Bytes, []string{"bytes", "n_bytes", "num_bytes"}, false}
	sequencesRole = role{"sequences", setting.Sequences, []string{"sequences", "sequence", "sequence_id"}, false}

	groupsRole   = role{"groups", "", []string{"groups", "group"}, false}
	clustersRole = role{"clusters", "", []string{"clusters", "cluster"}, false}
)

// membersRole is the role of the members of an ensemble.
var membersRole = role{"scores", "", append([]string{"members", "ensemble"}, scoresNames...), false}

// scoresRole returns the role of scores of a kind.
func scoresRole(k metrics.Kind) role {
	switch k {
	case metrics.Dirichlet:
		return role{"scores", "", append([]string{"alpha", "alphas", "concentration"}, scoresNames...), false}
	case metrics.Samples:
		return role{"samples", "", []string{"samples", "draws", "forecasts", "ensemble", "preds", "predictions", "scores", "arr_0"}, false}
	case metrics.Quantiles:
		return role{"quantiles", "", []string{"quantiles", "forecasts", "preds", "predictions", "scores", "arr_0"}, false}
	case metrics.Normals:
		return role{"normal forecasts", "", []string{"normals", "forecasts", "preds", "predictions", "scores", "arr_0"}, false}
	case metrics.LogLiks:
		return role{"log-likelihoods", "", []string{"log_lik", "loglik", "log_likelihood", "log_likelihoods", "preds", "predictions", "scores", "arr_0"}, false}
	}
	return role{"scores", "", scoresNames, false}
}

// find returns the one array that has a name of the role; nil if there is none. More than one is an Error.
func (c *container) find(ro role) (*array, *Error) {
	at := -1
	for i, m := range c.members {
		if !slices.Contains(ro.names, m.name) {
			continue
		}
		if at >= 0 {
			return nil, fault("name one, as in "+c.path+":"+c.members[at].name,
				"several of its arrays may be the %s: %s", ro.what, c.list()).in(c.names.of(c.shown))
		}
		at = i
	}
	if at < 0 {
		return nil, nil
	}
	return c.load(at)
}

// take returns the array for a role in a file that was named for it: the only array if the path selects one, else the array with a
// name of the role.
func (c *container) take(ro role) (*array, *Error) {
	if !c.npz || c.shown != c.path {
		return c.load(0)
	}
	a, e := c.find(ro)
	if a == nil && e == nil && slices.ContainsFunc(c.members, func(m member) bool { return m.name == RowMarkArray }) {
		return nil, fault("name the predictions", "it has losses by row, for a comparison, and no %s", ro.what).in(c.names.of(c.shown))
	}
	if a == nil && e == nil {
		return nil, fault("name one, as in "+c.path+":"+c.members[0].name, "none of its arrays is named like %s (%s); it has %s",
			ro.what, strings.Join(ro.names, ", "), c.list()).in(c.names.of(c.shown))
	}
	return a, e
}

// whole returns the container of all arrays, given one that its path limits to a single array.
func (c *container) whole() (*container, *Error) {
	if c.shown == c.path {
		return c, nil
	}
	all := &container{names: c.names, from: c.from, path: c.path, shown: c.path, file: c.file, stamp: c.stamp}
	if e := all.openZip(""); e != nil {
		return nil, e.in(c.names.of(c.shown))
	}
	return all, nil
}
