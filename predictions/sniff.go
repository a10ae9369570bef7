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
	"unicode"
	"unicode/utf8"

	"github.com/candor-go/candor/internal/setting"
)

// exportNPY is Python code that saves any array.
const exportNPY = `save the array with numpy.save("probs.npy", probs.astype("float32"))`

// kind is a kind of file, with what to do about it: code that converts the file at path, to an array and to a table. Where table is empty the
// array is for both.
// read says that it is read as a table.
type kind struct {
	what, remedy, table string
	read                bool
}

// ofArrays is a kind that a line of Python converts to an array. Its imports are part of the line.
func ofArrays(what, imports, array string) kind {
	return kind{what: what, remedy: inPython + "import " + imports + "; " + `numpy.save("probs.npy", ` + array + ")"}
}

// asTable adds the line that converts a table.
func (k kind) asTable(imports, read string) kind {
	k.table = inPython + "import " + imports + "; " + read + toParquet
	return k
}

// ofTables is a kind that has nothing but tables, which a line of Python converts.
func ofTables(what, imports, read string) kind {
	k := kind{what: what}.asTable(imports, read)
	k.remedy = k.table
	return k
}

// trusted says of a kind that it is not read because it can run code.
func (k kind) trusted() kind {
	const why = "it can run any code, so it is not read; if you trust it, "
	k.remedy, k.table = why+k.remedy, why+k.table
	return k
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
	torchFile  = ofArrays("a PyTorch file (torch.save)", "numpy, torch", `torch.load(path, map_location="cpu").detach().float().numpy()`)
	pickleFile = ofArrays("a Python pickle", "numpy, pandas", `numpy.asarray(pandas.read_pickle(path), "float32")`).asTable("pandas", "pandas.DataFrame(pandas.read_pickle(path))").trusted()
	joblibFile = ofArrays("a joblib file", "joblib, numpy", `numpy.asarray(joblib.load(path), "float32")`).asTable("joblib, pandas", "pandas.DataFrame(joblib.load(path))").trusted()
	matlabFile = ofArrays("a MATLAB file", "numpy, scipy.io", `scipy.io.loadmat(path)["probs"]`)
	hdfArray   = `import h5py, numpy; numpy.save("probs.npy", h5py.File(path)["probs"][:])`
	hdfTable   = "import pandas; pandas.read_hdf(path)" + toParquet
	hdfFile    = kind{what: "an HDF5 file", remedy: inPython + hdfArray + "; or, if pandas wrote it: " + hdfTable, table: inPython + hdfTable + "; or, if pandas did not write it: " + hdfArray}
	netcdfFile = ofArrays("a NetCDF file", "numpy, xarray", `xarray.open_dataset(path)["probs"]`).asTable("xarray", "xarray.open_dataset(path).to_dataframe().reset_index()")
	rdsFile    = kind{what: "an R file (saveRDS)", remedy: `convert it in R: write.csv(readRDS(path), "table.csv", row.names = FALSE)`}
	rdataFile  = kind{what: "an R file (save)", remedy: `convert it in R: write.csv(get(load(path)[1]), "table.csv", row.names = FALSE)`}
	excelFile  = ofTables("an Excel file", "pandas", "pandas.read_excel(path)")
	odsFile    = ofTables("an OpenDocument spreadsheet", "pandas", "pandas.read_excel(path)")
	sasFile    = ofTables("a SAS file", "pandas", "pandas.read_sas(path)")
	stataFile  = ofTables("a Stata file", "pandas", "pandas.read_stata(path)")
	spssFile   = kind{what: "an SPSS file", remedy: inPython + `import pandas; pandas.read_spss(path).to_csv("table.csv", index=False)`} // its attributes cannot be in Parquet
	avroFile   = kind{what: "an Avro file", remedy: inPython + `import polars; polars.read_avro(path).write_parquet("table.parquet")`}
	duckdbFile = kind{what: "a DuckDB database", remedy: inPython + `import duckdb; duckdb.connect(path).table("NAME").write_parquet("table.parquet")`}
	modelFile  = kind{what: "a model, and not what it predicts", remedy: `run it, and save what it gives: numpy.save("probs.npy", probs)`}
	webPage    = kind{what: "a web page", remedy: "did the download fail? open it in a browser"}
	lfsPointer = kind{what: "a pointer of Git LFS, and not the file itself", remedy: "fetch the file: git lfs pull"}
	noData     = kind{what: "a document or a picture", remedy: "name the file that has the predictions"}
)

var signatures = []signature{
	{0, "\x89HDF\r\n\x1a\n", hdfFile},
	{0, "CDF\x01", netcdfFile},
	{0, "CDF\x02", netcdfFile},
	{0, "CDF\x05", netcdfFile},
	{0, "PAR1", kind{what: "a Parquet file"}.readAs(".parquet")},
	{0, "PARE", kind{what: "an encrypted Parquet file", remedy: "write it without encryption"}},
	{0, "ARROW1", kind{what: "an Arrow file"}.readAs(".arrow")},
	{0, "FEA1", ofTables("a Feather file of version 1", "pyarrow.feather", "pyarrow.feather.read_feather(path)")},
	{0, "ORC", ofTables("an ORC file", "pandas", "pandas.read_orc(path)")},
	{0, "Obj\x01", avroFile},
	{0, "MATLAB 7.3 MAT-file", ofArrays("a MATLAB 7.3 file", "h5py, numpy", `h5py.File(path)["probs"][:].T`)},
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
	{0, "HEADER RECORD*******LIBRARY HEADER RECORD", sasFile},
	{0, "$FL2", spssFile},
	{0, "$FL3", spssFile},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", excelFile},
	{0, "SQLite format 3\x00", ofTables("an SQLite file", "pandas, sqlite3", `pandas.read_sql("SELECT * FROM NAME", sqlite3.connect(path))`)},
	{8, "DUCK", duckdbFile},
	{257, "ustar", kind{what: "a tar archive", remedy: "unpack it, and name the file: tar -xf FILE"}},
	{0, "%PDF-", noData},
	{0, "\x89PNG\r\n", noData},
	{0, "\xff\xd8\xff", noData},
	{0, "version https://git-lfs.github.com/", lfsPointer},
	{0, "<!DOCTYPE", webPage},
	{0, "<!doctype", webPage},
	{0, "<html", webPage},
	{0, "PK\x03\x04", kind{what: "a zip file (.npz)", remedy: "an .npz needs random access: write it to a file and name that", table: "unzip it, and name the file"}},
	{0, "PK\x05\x06", kind{what: "an empty zip file", remedy: exportNPY}},
	{0, npyMagic, kind{what: "the beginning of an .npy file, cut off in its first bytes", remedy: again}},
}

// packed are signatures that tell only how a file is compressed.
var packed = []signature{
	{0, "\x1f\x8b", kind{what: "a gzip file", remedy: "decompress it on the way: gunzip -c FILE"}},
	{0, "\x28\xb5\x2f\xfd", kind{what: "a zstd file", remedy: "decompress it on the way: zstd -dc FILE"}},
	{0, "\xfd7zXZ\x00", kind{what: "an xz file", remedy: "decompress it on the way: xz -dc FILE"}},
	{0, "BZh", kind{what: "a bzip2 file", remedy: "decompress it on the way: bzip2 -dc FILE"}},
	{0, "\x04\x22\x4d\x18", kind{what: "an LZ4 file", remedy: "decompress it on the way: lz4 -dc FILE"}},
}

// byExtension lists kinds by file extension, for files whose first bytes tell nothing, or only how they are compressed.
var byExtension = map[string]kind{
	".rds": rdsFile, ".rda": rdataFile, ".rdata": rdataFile, ".joblib": joblibFile, ".pkl": pickleFile, ".pickle": pickleFile, ".pt": torchFile,
	".pth": torchFile, ".mat": matlabFile, ".sas7bdat": sasFile, ".xpt": sasFile, ".dta": stataFile, ".xls": excelFile,
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
	k.remedy, k.read = k.table, true
	return k
}

// remedyOf returns a remedy with the name of the file.
func remedyOf(remedy, path string) string {
	if path == "-" {
		return remedy
	}
	remedy = strings.ReplaceAll(remedy, "(path", "("+strconv.Quote(filepath.ToSlash(path)))
	return strings.ReplaceAll(remedy, " FILE", " "+quotedForShell(path))
}

// quotedForShell returns a path as a shell reads it.
func quotedForShell(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool {
		return r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/\\._-+=:,@%", r)
	}) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// notTable returns the Error of a file that starts with b if it is of a kind that is no table, and nil otherwise. Text is a table unless it
// is of a kind that no table starts like.
func notTable(b []byte, path string) *Error {
	extension := strings.ToLower(filepath.Ext(path))
	k := knownBytes(b, extension)
	if bytes.HasPrefix(b, []byte(npyMagic)) && len(b) > len(npyMagic) {
		if k = (kind{what: "an .npy file"}); extension != ".npy" {
			k = k.readAs(".npy")
		}
	}
	switch text := printable(b); {
	case text && k.what != webPage.what && k.what != lfsPointer.what && k.what != sasFile.what:
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
	if _, named := formatOf(path); k.read && (named || path == "-") {
		k.remedy = "tables are read with " + setting.Tables.String()
	}
	return fault(remedyOf(k.remedy, path), notArray+"%s", k.what)
}

// knownBytes returns the kind of a file that starts with b, if its signature is known.
func knownBytes(b []byte, extension string) kind {
	for _, s := range signatures {
		if s.begins(b) {
			if s.what == hdfFile.what && (extension == ".nc" || extension == ".nc4") { // version 4 of NetCDF is HDF5
				return netcdfFile
			}
			return s.kind
		}
	}
	return kind{}
}

// knownBinary returns the kind of a file that starts with b, which is not text, and has no signature. It is empty if unknown.
func knownBinary(b []byte, extension string) kind {
	if beginsTensors(b) {
		return kind{what: "a safetensors file"}.readAs(".safetensors")
	}
	if beginsArrow(b) {
		return kind{what: "an Arrow stream"}.readAs(".arrows")
	}
	isPickle := len(b) >= 2 && b[0] == 0x80 && 2 <= b[1] && b[1] <= 5
	if isPickle && bytes.Contains(b, []byte("joblib.")) {
		return joblibFile
	}
	if k, ok := byExtension[extension]; ok {
		return k
	}
	for _, s := range packed {
		if s.begins(b) {
			return kind{what: s.what, remedy: s.remedy + " | " + setting.Stream.String()}
		}
	}
	if isPickle {
		return pickleFile
	}
	return kind{}
}

// beginsTensors reports whether a file that starts with b is of safetensors: the length of a header, which is an object.
func beginsTensors(b []byte) bool {
	return len(b) >= 9 && b[8] == '{' && 2 <= binary.LittleEndian.Uint64(b) && binary.LittleEndian.Uint64(b) < 100<<20
}

// looksLike returns the kind of a file that starts with b and has an extension. It is empty if unknown.
func looksLike(b []byte, extension string) kind {
	if k := knownBytes(b, extension); k.what != "" {
		return k
	}
	// A file truncated within the magic of .npy.
	if len(b) < len(npyMagic) && bytes.HasPrefix([]byte(npyMagic), b) {
		return kind{what: "the beginning of an .npy file, cut off in its first bytes", remedy: again}
	}
	if !printable(b) {
		return knownBinary(b, extension)
	}
	if c := bytes.TrimSpace(b); len(c) > 0 && (c[0] == '{' || c[0] == '[') {
		if rows := bytes.TrimLeft(c, "[ \t\r\n"); len(rows) > 0 && rows[0] != '{' {
			return ofArrays("JSON text", "json, numpy", `numpy.array(json.load(open(path)))`)
		}
		return kind{what: "JSON text"}.readAs(".jsonl")
	}
	return kind{what: plainText, remedy: "tables are read with " + setting.Tables.String() + `; export other numbers with numpy.save("probs.npy", ` + loadText(b) + `)`}
}

// decimalComma finds a number with a decimal comma in a table with semicolons or tabs.
var decimalComma = regexp.MustCompile(`(^|[;\t\n])\s*-?\d+,\d+\s*([;\t\r\n]|$)`)

// loadText returns Python code that reads the numbers of a table that starts with b.
func loadText(b []byte) string {
	header, _, _ := bytes.Cut(b, []byte{'\n'})
	separator := ""
	if c := separatorOf("", header); bytes.IndexByte(unquoted(header), c) >= 0 {
		separator = map[byte]string{',': ",", ';': ";", '\t': `\t`, '|': "|"}[c] // numpy knows white space without being told
	}
	if decimalComma.Match(b) && separator != "," {
		// Without a separator, one that does not occur: pandas takes a comma.
		return `pandas.read_csv(path, sep="` + cmp.Or(separator, `\t`) + `", decimal=",").to_numpy()`
	}
	if separator == "" {
		return `numpy.loadtxt(path, skiprows=1)`
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
			return kind{what: "a log of Inspect (.eval)", remedy: "it holds answers and whether they are right, and no probabilities of choices"}
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
