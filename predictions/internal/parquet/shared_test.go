package parquet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions/internal/columns"
)

// formats returns the folder of files that other software wrote, which CANDOR_FORMATS names.
func formats(t *testing.T) string {
	dir := os.Getenv("CANDOR_FORMATS")
	if dir == "" {
		t.Skip("CANDOR_FORMATS is not set: the files of other software are not part of the repository")
	}
	return dir
}

// TestFormats reads files that other software wrote, and compares them with the library's reading.
func TestFormats(t *testing.T) {
	dir := formats(t)
	for _, folder := range []string{"parquet-testing/data", "parquet-testing/bad_data", "written"} {
		files, err := filepath.Glob(filepath.Join(dir, folder, "*.parquet"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", folder, files, err)
		}
		for _, name := range files {
			t.Run(folder+"/"+filepath.Base(name), func(t *testing.T) {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				for _, most := range []int{7, 100000} {
					f, got, err := ours(inMemory(b), columns.Want{Bytes: 64 << 20}, most)
					if f != nil && most == 7 {
						t.Log(typesOf(f))
					}
					if err != nil {
						if !fault(err) {
							t.Errorf("%v is no Fault", err)
						}
						t.Logf("refused: %+v", err)
						if folder == "written" {
							t.Error("it should be read")
						}
						return
					}
					compare(t, b, f, got)
				}
				if strings.HasPrefix(folder, "bad") {
					t.Log("read")
				}
			})
		}
	}
}
