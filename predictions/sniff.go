package predictions

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/setting"
)

// exportNPY is Python code that saves any array.
const exportNPY = `save the array with numpy.save("probs.npy", probs.astype("float32"))`

// kind is a kind of file, with what to do about it: code that converts the file at path, to an array and to a table. Where table is empty the
// array is for both.
type kind struct{ what, remedy, table string }

// pandasFile is a kind that pandas, or another library with tables, reads.
func pandasFile(what, read string) kind {
	return kind{what, `export the columns with numpy.save("probs.npy", ` + read + `[columns].to_numpy("float32"))`, inPython + read + toParquet}
}

const (
	inPython  = "convert it in Python: "
	toParquet = `.to_parquet("table.parquet")`
)

// signature is what files of a kind have at some place, mostly their beginning.
type signature struct {
	at     int
	prefix string
	kind
}

var (
	torchFile   = kind{"a PyTorch file (torch.save)", `load it in Python and export it: numpy.save("probs.npy", torch.load(path, map_location="cpu").detach().float().numpy())`, ""}
	pickleFile  = kind{"a Python pickle", `a pickle can run any code, so none is read: load it in Python and export it: numpy.save("probs.npy", numpy.asarray(pandas.read_pickle(path), "float32"))`, "a pickle can run any code, so none is read; " + inPython + "pandas.read_pickle(path)" + toParquet}
	joblibFile  = kind{"a joblib file", `it can run any code, so it is not read: load it in Python and export it: numpy.save("probs.npy", numpy.asarray(joblib.load(path), "float32"))`, "it can run any code, so it is not read; " + inPython + "joblib.load(path)" + toParquet}
	matlabFile  = kind{"a MATLAB file", `export the array with numpy.save("probs.npy", scipy.io.loadmat(path)["probs"])`, ""}
	hdfFile     = kind{"an HDF5 file", `export the array with numpy.save("probs.npy", h5py.File(path)["probs"][:])`, inPython + "pandas.read_hdf(path)" + toParquet}
	netcdfFile  = kind{"a NetCDF file", `export the array with numpy.save("probs.npy", xarray.open_dataset(path)["probs"])`, inPython + "xarray.open_dataset(path).to_dataframe().reset_index()" + toParquet}
	rdsFile     = kind{"an R file (saveRDS)", `export it in R with RcppCNPy::npySave("probs.npy", readRDS(path)), a table of forecasts with write.csv(readRDS(path), "table.csv", row.names = FALSE)`, `convert it in R: write.csv(readRDS(path), "table.csv", row.names = FALSE)`}
	rdataFile   = kind{"an R file (save)", `export the object in R with load(path); RcppCNPy::npySave("probs.npy", probs), a table of forecasts with write.csv(table, "table.csv", row.names = FALSE)`, `convert it in R: write.csv(get(load(path)[1]), "table.csv", row.names = FALSE)`}
	excelFile   = pandasFile("an Excel file", "pandas.read_excel(path)")
	odsFile     = pandasFile("an OpenDocument spreadsheet", "pandas.read_excel(path)")
	sasFile     = pandasFile("a SAS file", "pandas.read_sas(path)")
	stataFile   = pandasFile("a Stata file", "pandas.read_stata(path)")
	spssFile    = pandasFile("an SPSS file", "pandas.read_spss(path)")
	avroFile    = kind{"an Avro file", `export the columns with numpy.save("probs.npy", polars.read_avro(path).select(columns).to_numpy())`, inPython + `polars.read_avro(path).write_parquet("table.parquet")`}
	duckdbFile  = kind{"a DuckDB database", `export a table with duckdb.connect(path).table(name).write_parquet("table.parquet")`, ""}
	arrowStream = pandasFile("an Arrow stream", "pyarrow.ipc.open_stream(path).read_pandas()")
	modelFile   = kind{"a model, and not what it predicts", `run it, and save what it gives: numpy.save("probs.npy", probs)`, ""}
	webPage     = kind{"a web page", "did the download fail? open it in a browser", ""}
	lfsPointer  = kind{"a pointer of Git LFS, and not the file itself", "fetch the file: git lfs pull", ""}
	noData      = kind{"a document or a picture", "name the file that has the predictions", ""}
)

var signatures = []signature{
	{0, "\x89HDF\r\n\x1a\n", hdfFile},
	{0, "CDF\x01", netcdfFile},
	{0, "CDF\x02", netcdfFile},
	{0, "CDF\x05", netcdfFile},
	{0, "PAR1", pandasFile("a Parquet file", "pandas.read_parquet(path)").readAs(".parquet")},
	{0, "PARE", kind{"an encrypted Parquet file", "write it without encryption", ""}},
	{0, "ARROW1", pandasFile("an Arrow file", "pandas.read_feather(path)").readAs(".arrow")},
	{0, "FEA1", pandasFile("a Feather file of version 1", "pyarrow.feather.read_feather(path)")},
	{0, "ORC", pandasFile("an ORC file", "pandas.read_orc(path)")},
	{0, "Obj\x01", avroFile},
	{0, "MATLAB 7.3 MAT-file", kind{"a MATLAB 7.3 file", `export the array with numpy.save("probs.npy", h5py.File(path)["probs"][:].T)`, ""}},
	{0, "MATLAB 5.0 MAT-file", matlabFile},
	{0, "RDX2\n", rdataFile},
	{0, "RDX3\n", rdataFile},
	{0, "RDA2\n", rdataFile},
	{0, "RDA3\n", rdataFile},
	{0, "X\n\x00\x00\x00\x02", rdsFile},
	{0, "X\n\x00\x00\x00\x03", rdsFile},
	{0, "A\n2\n", rdsFile},
	{0, "A\n3\n", rdsFile},
	{0, "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", torchFile}, // as torch.save wrote before 1.6
	{0, "<stata_dta>", stataFile},
	{0, "$FL2", spssFile},
	{0, "$FL3", spssFile},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", excelFile},
	{0, "SQLite format 3\x00", pandasFile("an SQLite file", "pandas.read_sql(query, sqlite3.connect(path))")},
	{8, "DUCK", duckdbFile},
	{257, "ustar", kind{"a tar archive", "unpack it, and name the file: tar -xf FILE", ""}},
	{0, "%PDF-", noData},
	{0, "\x89PNG\r\n", noData},
	{0, "\xff\xd8\xff", noData},
	{0, "version https://git-lfs.github.com/", lfsPointer},
	{0, "<!DOCTYPE", webPage},
	{0, "<!doctype", webPage},
	{0, "<html", webPage},
	{0, "PK\x03\x04", kind{"a zip file (.npz)", "an .npz needs random access: write it to a file and name that", ""}},
	{0, "PK\x05\x06", kind{"an empty zip file", exportNPY, ""}},
	{0, npyMagic, kind{"the beginning of an .npy file, cut off in its first bytes", again, ""}},
}

// packed are signatures that tell only how a file is compressed.
var packed = []signature{
	{0, "\x1f\x8b", kind{"a gzip file", "decompress it on the way: gunzip -c FILE", ""}},
	{0, "\x28\xb5\x2f\xfd", kind{"a zstd file", "decompress it on the way: zstd -dc FILE", ""}},
	{0, "\xfd7zXZ\x00", kind{"an xz file", "decompress it on the way: xz -dc FILE", ""}},
	{0, "BZh", kind{"a bzip2 file", "decompress it on the way: bzip2 -dc FILE", ""}},
	{0, "\x04\x22\x4d\x18", kind{"an LZ4 file", "decompress it on the way: lz4 -dc FILE", ""}},
}

// byExtension lists kinds by file extension, for files whose first bytes tell nothing, or only how they are compressed.
var byExtension = map[string]kind{
	".rds": rdsFile, ".rda": rdataFile, ".rdata": rdataFile, ".joblib": joblibFile, ".pkl": pickleFile, ".pickle": pickleFile, ".pt": torchFile,
	".pth": torchFile, ".mat": matlabFile, ".sas7bdat": sasFile, ".xpt": sasFile, ".dta": stataFile, ".xls": excelFile, ".arrow": arrowStream, ".arrows": arrowStream,
	".onnx": modelFile, ".pb": modelFile,
}

// sniffed is how many bytes are looked at to know a kind.
const sniffed = 512

// begins reports whether b has the signature.
func (s *signature) begins(b []byte) bool {
	return len(b) > s.at && bytes.HasPrefix(b[s.at:], []byte(s.prefix))
}

// readAs returns a kind that is read as a table under another extension.
func (k kind) readAs(extension string) kind {
	k.table = "give it a name that ends in " + extension
	return k
}

// remedyOf returns a remedy with the name of the file.
func remedyOf(remedy, path string) string {
	if path == "-" {
		return remedy
	}
	return strings.ReplaceAll(remedy, "(path", "("+strconv.Quote(filepath.ToSlash(path)))
}

// notTable returns the Error of a file that starts with b if it is of a kind that is no table, and nil otherwise. Text is a table unless it
// is of a kind that no table starts like.
func notTable(b []byte, path string) *Error {
	extension := strings.ToLower(filepath.Ext(path))
	k := knownBytes(b)
	switch text := printable(b); {
	case text && k.what != webPage.what && k.what != lfsPointer.what:
		k = kind{}
		if extension == ".pkl" || extension == ".pickle" { // the oldest protocol is text
			k = pickleFile
		}
	case k.what == "" && !text:
		k = knownBinary(b, extension)
	}
	if k.what == "" {
		return nil
	}
	if bytes.HasPrefix(b, []byte(npyMagic)) {
		return npyAsTable()
	}
	return fault(remedyOf(cmp.Or(k.table, k.remedy), path), "not a table: it looks like %s", k.what)
}

// npyAsTable returns the Error of an array where a table is read.
func npyAsTable() *Error {
	return fault("leave the names of columns out, or name tables only", "it is an .npy array, which has no named columns")
}

// Text of the Error of a file that is not an array.
const (
	notArray  = "not an .npy or .npz file: it looks like "
	plainText = "text (CSV?)" // but not JSON
)

// notNPY returns the Error of a file that does not start like an .npy. have is what has been read so far; it reads a little more.
func notNPY(r io.Reader, have []byte, path string) *Error {
	var buf [sniffed]byte
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
	return fault(remedyOf(k.remedy, path), notArray+"%s", k.what)
}

// knownBytes returns the kind of a file that starts with b, if its signature is known.
func knownBytes(b []byte) kind {
	for _, s := range signatures {
		if s.begins(b) {
			return s.kind
		}
	}
	return kind{}
}

// knownBinary returns the kind of a file that starts with b, which is not text, and has no signature. It is empty if unknown.
func knownBinary(b []byte, extension string) kind {
	if n := binary.LittleEndian.Uint64(append(bytes.Clone(b), make([]byte, 8)...)); len(b) >= 9 && b[8] == '{' && n >= 2 && n < 100<<20 {
		return kind{"a safetensors file", `export the tensor with numpy.save("probs.npy", safetensors.numpy.load_file(path)["probs"])`, ""}.readAs(".safetensors")
	}
	if k, ok := byExtension[extension]; ok {
		return k
	}
	for _, s := range packed {
		if s.begins(b) {
			return kind{s.what, s.remedy + " | " + setting.Stream.String(), ""}
		}
	}
	if len(b) >= 2 && b[0] == 0x80 && 2 <= b[1] && b[1] <= 5 {
		return pickleFile
	}
	return kind{}
}

// looksLike returns the kind of a file that starts with b and has an extension. It is empty if unknown.
func looksLike(b []byte, extension string) kind {
	if k := knownBytes(b); k.what != "" {
		return k
	}
	// A file truncated within the magic of .npy.
	if len(b) < len(npyMagic) && bytes.HasPrefix([]byte(npyMagic), b) {
		return kind{"the beginning of an .npy file, cut off in its first bytes", again, ""}
	}
	if !printable(b) {
		return knownBinary(b, extension)
	}
	if c := bytes.TrimSpace(b); len(c) > 0 && (c[0] == '{' || c[0] == '[') {
		return kind{"JSON text", `export the numbers with numpy.save("probs.npy", numpy.array(json.load(open(path))))`, ""}
	}
	return kind{plainText, "tables are read with " + setting.Tables.String() + `; export other numbers with numpy.save("probs.npy", ` + loadText(b) + `)`, ""}
}

// decimalComma finds a number with a decimal comma in a table with semicolons or tabs.
var decimalComma = regexp.MustCompile(`(^|[;\t\n])\s*-?\d+,\d+\s*([;\t\r\n]|$)`)

// loadText returns Python code that reads the numbers of a table that starts with b.
func loadText(b []byte) string {
	header, _, _ := bytes.Cut(b, []byte{'\n'})
	separator := map[byte]string{',': ",", ';': ";", '\t': `\t`, '|': "|"}[separatorOf("", header)]
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
		case f.Name == "mimetype":
			return odsFile
		case f.Name == "model.weights.h5":
			return modelFile
		case strings.HasPrefix(f.Name, "_journal/"):
			return kind{"a log of Inspect (.eval)", "it holds answers and their marks, and no probabilities of choices", ""}
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
