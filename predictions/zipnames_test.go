package predictions

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestZipNames: a name in the directory of an .npz that is not the one before the data is damage, wherever the letter is.
func TestZipNames(t *testing.T) {
	probs := npy(1, "<f4", false, []int{3, 2}, func(int) float64 { return .5 })
	whole := npz(false, entry{"probs.npy", probs}, entry{"extra.npy", probs})
	path := filepath.Join(t.TempDir(), "t.npz")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Inspect(path); err != nil || len(l) != 2 {
		t.Fatalf("%v, %v", l, err)
	}
	at := bytes.LastIndex(whole, []byte("extra.npy"))
	for i := range "extra.npy" {
		b := bytes.Clone(whole)
		b[at+i] ^= 1
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Inspect(path); err == nil || !strings.Contains(err.Error(), "damaged .npz: its directory names a member") {
			t.Errorf("letter %d: %v", i, err)
		}
	}
}
