package predictions

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf8"
)

const exportNPY = `save the array with numpy.save("probs.npy", probs.astype("float32"))`

// signature is how a kind of file begins, what it is called and what to do with it.
type signature struct {
	prefix, what, remedy string
}

var signatures = []signature{
	{"\x89HDF\r\n\x1a\n", "an HDF5 file", `export the array with numpy.save("probs.npy", h5py.File(path)["probs"][:])`},
	{"PAR1", "a Parquet file", `export the columns with numpy.save("probs.npy", pandas.read_parquet(path)[columns].to_numpy("float32"))`},
	{"ARROW1", "an Arrow file", `export the columns with numpy.save("probs.npy", pyarrow.feather.read_table(path).to_pandas().to_numpy("float32"))`},
	{"\x1f\x8b", "a gzip file", "decompress it on the way: gunzip -c FILE | candor eval -"},
	{"\x28\xb5\x2f\xfd", "a zstd file", "decompress it on the way: zstd -dc FILE | candor eval -"},
	{"\xfd7zXZ\x00", "an xz file", "decompress it on the way: xz -dc FILE | candor eval -"},
	{"BZh", "a bzip2 file", "decompress it on the way: bzip2 -dc FILE | candor eval -"},
	{"PK\x03\x04", "a zip file (.npz)", "an .npz needs random access: write it to a file and name that"},
	{"PK\x05\x06", "an empty zip file", exportNPY},
	{"MATLAB 5.0 MAT-file", "a MATLAB file", `export the array with numpy.save("probs.npy", scipy.io.loadmat(path)["probs"])`},
	{"cSTA", "a state of candor eval --state", "candor merge FILE shows what is in it"},
	{"\x93NUMPY", "the beginning of an .npy file, cut off in its first bytes", again},
}

// plainText is what text is called that is no JSON.
const plainText = "text (CSV?)"

// notNPY returns the Error of what does not begin like .npy. have is what was read so far; a little more is read to look at.
func notNPY(r io.Reader, have []byte) *Error {
	var buf [512]byte
	n := copy(buf[:], have)
	m, _ := io.ReadFull(r, buf[n:]) // whatever there is will do
	b := buf[:n+m]
	if len(b) == 0 {
		return fault("was the program that wrote it interrupted? "+again, "empty file")
	}
	what, remedy := looksLike(b)
	if what == "" {
		return fault(exportNPY, "not an .npy or .npz file: it begins with % x", b[:min(len(b), 8)])
	}
	return fault(remedy, "not an .npy or .npz file: it looks like %s", what)
}

// looksLike names the kind of file that begins with b, and what to do with it; both are empty if it is not known.
func looksLike(b []byte) (what, remedy string) {
	for _, s := range signatures {
		if bytes.HasPrefix(b, []byte(s.prefix)) {
			return s.what, s.remedy
		}
	}
	// A file cut off within the magic of .npy.
	if len(b) < len(npyMagic) && bytes.HasPrefix([]byte(npyMagic), b) {
		return "the beginning of an .npy file, cut off in its first bytes", again
	}
	if len(b) >= 2 && b[0] == 0x80 && 2 <= b[1] && b[1] <= 5 {
		return "a Python pickle (or an old torch.save)", "a pickle can run any code, so none is read: load it in Python and " + exportNPY
	}
	if len(b) >= 9 && b[8] == '{' {
		if n := binary.LittleEndian.Uint64(b); n >= 2 && n < 100<<20 {
			return "a safetensors file", `export the tensor with numpy.save("probs.npy", safetensors.numpy.load_file(path)["probs"])`
		}
	}
	if !printable(b) {
		return "", ""
	}
	switch c := bytes.TrimSpace(b); {
	case len(c) > 0 && (c[0] == '{' || c[0] == '['):
		return "JSON text", "export the numbers with " + exportNPY
	default:
		return plainText, `tables are read with --task regression or quantiles; for others export the numbers with numpy.save("probs.npy", numpy.loadtxt(path, delimiter=",", skiprows=1))`
	}
}

// printable is whether b reads as text, apart from a rune that its end may cut in two.
func printable(b []byte) bool {
	for len(b) > 0 {
		c, n := utf8.DecodeRune(b)
		if c == utf8.RuneError && n == 1 {
			return len(b) < utf8.UTFMax && !utf8.FullRune(b)
		}
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return false
		}
		b = b[n:]
	}
	return true
}
