package predictions

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/setting"
)

// Python code that exports to an .npy: any array, and the columns of a table.
const exportNPY = `save the array with numpy.save("probs.npy", probs.astype("float32"))`

func exportColumns(read string) string {
	return `export the columns with numpy.save("probs.npy", ` + read + `[columns].to_numpy("float32"))`
}

// kind is a kind of file, with what to do about it.
type kind struct{ what, remedy string }

// signature is how files of a kind start.
type signature struct {
	prefix string
	kind
}

var (
	torchFile   = kind{"a PyTorch file (torch.save)", `load it in Python and export it: numpy.save("probs.npy", torch.load(path, map_location="cpu").detach().float().numpy())`}
	pickleFile  = kind{"a Python pickle", `a pickle can run any code, so none is read: load it in Python and export it: numpy.save("probs.npy", numpy.asarray(pandas.read_pickle(path), "float32"))`}
	joblibFile  = kind{"a joblib file", `it can run any code, so it is not read: load it in Python and export it: numpy.save("probs.npy", numpy.asarray(joblib.load(path), "float32"))`}
	matlabFile  = kind{"a MATLAB file", `export the array with numpy.save("probs.npy", scipy.io.loadmat(path)["probs"])`}
	hdfFile     = kind{"an HDF5 file", `export the array with numpy.save("probs.npy", h5py.File(path)["probs"][:])`}
	rdsFile     = kind{"an R file (saveRDS)", `export it in R with RcppCNPy::npySave("probs.npy", readRDS(path)), a table of forecasts with write.csv(readRDS(path), "table.csv", row.names = FALSE)`}
	rdataFile   = kind{"an R file (save)", `export the object in R with load(path); RcppCNPy::npySave("probs.npy", probs), a table of forecasts with write.csv(table, "table.csv", row.names = FALSE)`}
	featherFile = kind{"a Feather file", exportColumns("pandas.read_feather(path)")}
	excelFile   = kind{"an Excel file", exportColumns("pandas.read_excel(path)")}
	sasFile     = kind{"a SAS file", exportColumns("pandas.read_sas(path)")}
	stataFile   = kind{"a Stata file", exportColumns("pandas.read_stata(path)")}
	spssFile    = kind{"an SPSS file", exportColumns("pandas.read_spss(path)")}
	arrowStream = kind{"an Arrow stream", exportColumns("pyarrow.ipc.open_stream(path).read_pandas()")}
	modelFile   = kind{"a model, and not what it predicts", `run it, and save what it gives: numpy.save("probs.npy", probs)`}
)

var signatures = []signature{
	{"\x89HDF\r\n\x1a\n", hdfFile},
	{"PAR1", kind{"a Parquet file", exportColumns("pandas.read_parquet(path)")}},
	{"ARROW1", kind{"an Arrow file", exportColumns("pandas.read_feather(path)")}},
	{"FEA1", featherFile},
	{"ORC", kind{"an ORC file", exportColumns("pandas.read_orc(path)")}},
	{"MATLAB 7.3 MAT-file", kind{"a MATLAB 7.3 file", `export the array with numpy.save("probs.npy", h5py.File(path)["probs"][:].T)`}},
	{"MATLAB 5.0 MAT-file", matlabFile},
	{"RDX2\n", rdataFile},
	{"RDX3\n", rdataFile},
	{"RDA2\n", rdataFile},
	{"RDA3\n", rdataFile},
	{"X\n\x00\x00\x00\x02", rdsFile},
	{"X\n\x00\x00\x00\x03", rdsFile},
	{"A\n2\n", rdsFile},
	{"A\n3\n", rdsFile},
	{"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", torchFile}, // as torch.save wrote before 1.6
	{"<stata_dta>", stataFile},
	{"$FL2", spssFile},
	{"$FL3", spssFile},
	{"SQLite format 3\x00", kind{"an SQLite file", exportColumns("pandas.read_sql(query, sqlite3.connect(path))")}},
	{"PK\x03\x04", kind{"a zip file (.npz)", "an .npz needs random access: write it to a file and name that"}},
	{"PK\x05\x06", kind{"an empty zip file", exportNPY}},
	{npyMagic, kind{"the beginning of an .npy file, cut off in its first bytes", again}},
}

// packed are signatures that tell only how a file is compressed.
var packed = []signature{
	{"\x1f\x8b", kind{"a gzip file", "decompress it on the way: gunzip -c FILE"}},
	{"\x28\xb5\x2f\xfd", kind{"a zstd file", "decompress it on the way: zstd -dc FILE"}},
	{"\xfd7zXZ\x00", kind{"an xz file", "decompress it on the way: xz -dc FILE"}},
	{"BZh", kind{"a bzip2 file", "decompress it on the way: bzip2 -dc FILE"}},
}

// byExtension lists kinds by file extension, for files whose first bytes tell nothing, or only how they are compressed.
var byExtension = map[string]kind{
	".rds": rdsFile, ".rda": rdataFile, ".rdata": rdataFile, ".joblib": joblibFile, ".pkl": pickleFile, ".pickle": pickleFile, ".pt": torchFile,
	".pth": torchFile, ".mat": matlabFile, ".sas7bdat": sasFile, ".xpt": sasFile, ".dta": stataFile, ".xls": excelFile, ".arrow": arrowStream, ".arrows": arrowStream,
	".onnx": modelFile, ".pb": modelFile,
}

// Text of the Error of a file that is not an array.
const (
	notArray  = "not an .npy or .npz file: it looks like "
	plainText = "text (CSV?)" // but not JSON
)

// notNPY returns the Error of a file that does not start like an .npy. have is what has been read so far; it reads a little more.
func notNPY(r io.Reader, have []byte, path string) *Error {
	var buf [512]byte
	n := copy(buf[:], have)
	m, _ := io.ReadFull(r, buf[n:]) // a short read will do
	b := buf[:n+m]
	if len(b) == 0 {
		return fault("was the program that wrote it interrupted? "+again, "empty file")
	}
	if bytes.HasPrefix(b, []byte("cSTA")) {
		return fault(setting.ReadState.String()+" shows what is in it", notArray+"a state of %v", setting.State)
	}
	k := looksLike(b, strings.ToLower(filepath.Ext(path)))
	if k.what == "" {
		return fault(exportNPY, "not an .npy or .npz file: it begins with % x", b[:min(len(b), 8)])
	}
	return fault(k.remedy, notArray+"%s", k.what)
}

// looksLike returns the kind of a file that starts with b and has an extension. It is empty if unknown.
func looksLike(b []byte, extension string) kind {
	for _, s := range signatures {
		if bytes.HasPrefix(b, []byte(s.prefix)) {
			return s.kind
		}
	}
	// A file truncated within the magic of .npy.
	if len(b) < len(npyMagic) && bytes.HasPrefix([]byte(npyMagic), b) {
		return kind{"the beginning of an .npy file, cut off in its first bytes", again}
	}
	if n := binary.LittleEndian.Uint64(append(bytes.Clone(b), make([]byte, 8)...)); len(b) >= 9 && b[8] == '{' && n >= 2 && n < 100<<20 {
		return kind{"a safetensors file", `export the tensor with numpy.save("probs.npy", safetensors.numpy.load_file(path)["probs"])`}
	}
	text := printable(b)
	if k, ok := byExtension[extension]; ok && !text {
		return k
	}
	for _, s := range packed {
		if bytes.HasPrefix(b, []byte(s.prefix)) {
			return kind{s.what, s.remedy + " | " + setting.Stream.String()}
		}
	}
	if len(b) >= 2 && b[0] == 0x80 && 2 <= b[1] && b[1] <= 5 {
		return pickleFile
	}
	if !text {
		return kind{}
	}
	if c := bytes.TrimSpace(b); len(c) > 0 && (c[0] == '{' || c[0] == '[') {
		return kind{"JSON text", `export the numbers with numpy.save("probs.npy", numpy.array(json.load(open(path))))`}
	}
	return kind{plainText, "tables are read with " + setting.Tables.String() + `; export other numbers with numpy.save("probs.npy", ` + loadText(b) + `)`}
}

// decimalComma finds a number with a decimal comma in a table with semicolons or tabs.
var decimalComma = regexp.MustCompile(`(^|[;\t\n])\s*-?\d+,\d+\s*([;\t\r\n]|$)`)

// loadText returns Python code that reads the numbers of a table that starts with b.
func loadText(b []byte) string {
	header, _, _ := bytes.Cut(b, []byte{'\n'})
	separator := map[byte]string{',': ",", ';': ";", '\t': `\t`}[separatorOf("", header)]
	if decimalComma.Match(b) && separator != "," {
		return `pandas.read_csv(path, sep="` + separator + `", decimal=",").to_numpy()`
	}
	return `numpy.loadtxt(path, delimiter="` + separator + `", skiprows=1)`
}

// looksZipped returns the kind of a zip file that is no .npz. It is empty if unknown.
func looksZipped(z *zip.Reader) kind {
	for _, f := range z.File {
		switch {
		case f.Name == "data.pkl" || strings.HasSuffix(f.Name, "/data.pkl"):
			return torchFile
		case strings.HasPrefix(f.Name, "xl/"):
			return excelFile
		case f.Name == "model.weights.h5":
			return modelFile
		case strings.HasPrefix(f.Name, "_journal/"):
			return kind{"a log of Inspect (.eval)", "it holds answers and their marks, and no probabilities of choices"}
		}
	}
	return kind{}
}

// printable reports whether b is text. A rune that the end of b truncates is ignored.
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
