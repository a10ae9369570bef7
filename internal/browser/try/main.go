// Command try makes the page that runs candor in a browser: go run ./internal/browser/try FILE. It builds the command for js/wasm, and puts it,
// packed by xz, into one file of HTML, which works from a server and from a disk, and needs neither network nor other files.
package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var (
	//go:embed page.html
	page string
	//go:embed page.js
	script string
	//go:embed worker.js
	worker string
	//go:embed unpack.js
	unpack string
)

const module = "github.com/candor-go/candor/cmd/candor"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: try FILE")
	}
	folder, err := os.MkdirTemp("", "candor-try-")
	check(err)
	err = write(os.Args[1], folder)
	os.RemoveAll(folder)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func write(name, folder string) error {
	built := filepath.Join(folder, "candor.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", built, module)
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go build for js/wasm: %w", err)
	}
	program, err := os.ReadFile(built)
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	// What starts a program goes with the compiler that built it.
	start, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	packed, err := pack(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(script))
	out := strings.NewReplacer(
		"{{hash}}", base64.StdEncoding.EncodeToString(sum[:]),
		// The system of worker.js stands first: the other would set one of its own.
		"{{worker}}", inScript(unpack+worker+string(start)),
		"{{program}}", base64.StdEncoding.EncodeToString(packed),
		"{{script}}", script,
	).Replace(page)
	if strings.Contains(script, "</") {
		return fmt.Errorf("page.js has %q, which may end it", "</")
	}
	tmp := name + ".new"
	if err := os.WriteFile(tmp, []byte(out), 0o666); err != nil {
		return err
	}
	if err := os.Rename(tmp, name); err != nil {
		return err
	}
	fmt.Printf("%s: %.2f MB, of which the program %.2f MB, %.2f MB compressed\n", name, float64(len(out))/1e6, float64(len(program))/1e6, float64(len(packed))/1e6)
	return nil
}

// pack returns the program as a file of the form .lzma with its size, which unpack.js reads. A browser unpacks gzip by itself, but the page would have
// half as many bytes more.
func pack(program []byte) ([]byte, error) {
	var out, said bytes.Buffer
	xz := exec.Command("xz", "--format=lzma", "-9", "--extreme", "--stdout")
	xz.Env = append(os.Environ(), "XZ_DEFAULTS=", "XZ_OPT=")
	xz.Stdin, xz.Stdout, xz.Stderr = bytes.NewReader(program), &out, &said
	if err := xz.Run(); err != nil {
		return nil, fmt.Errorf("xz, which packs the program; install xz-utils: %w: %s", err, said.Bytes())
	}
	packed := out.Bytes()
	const size = 5 // its place in the header, which has -1 there
	binary.LittleEndian.PutUint64(packed[size:], uint64(len(program)))
	return packed, nil
}

// inScript writes the end of an element in another way, so that none is in a script.
func inScript(s string) string { return strings.ReplaceAll(s, "</", `<\/`) }
