// Command try makes the page that runs candor in a browser: go run ./internal/browser/try FILE. It builds the command for js/wasm, and puts it,
// compressed, into one file of HTML, which works from a server and from a disk, and needs neither network nor other files.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
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
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(program); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(script))
	out := strings.NewReplacer(
		"{{hash}}", base64.StdEncoding.EncodeToString(sum[:]),
		// The system of worker.js stands first: the other would set one of its own.
		"{{worker}}", inScript(worker+string(start)),
		"{{program}}", base64.StdEncoding.EncodeToString(packed.Bytes()),
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
	fmt.Printf("%s: %.2f MB, of which the program %.2f MB, %.2f MB compressed\n", name, float64(len(out))/1e6, float64(len(program))/1e6, float64(packed.Len())/1e6)
	return nil
}

// inScript writes the end of an element in another way, so that none is in a script.
func inScript(s string) string { return strings.ReplaceAll(s, "</", `<\/`) }
