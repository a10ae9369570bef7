package candorbeam

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProcess runs the tests of pipelines on a Prism that is a process of its own, so that whatever travels between a runner and its
// workers does travel.
func TestProcess(t *testing.T) {
	prism := filepath.Join(t.TempDir(), "prism")
	if out, err := exec.Command("go", "build", "-o", prism, "github.com/apache/beam/sdks/v2/go/cmd/prism").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	// A worker that does not start would let Prism wait for ever.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	server := exec.CommandContext(ctx, prism, "-serve_http=false", fmt.Sprint("-job_port=", port), "-log_level=error")
	server.Stdout, server.Stderr = os.Stderr, os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		server.Process.Kill()
		server.Wait()
	}()
	endpoint := fmt.Sprint("127.0.0.1:", port)
	for {
		c, err := net.Dial("tcp", endpoint)
		if err == nil {
			c.Close()
			break
		}
		if ctx.Err() != nil {
			t.Fatal("Prism does not answer")
		}
		time.Sleep(50 * time.Millisecond)
	}
	out, err := exec.CommandContext(ctx, os.Args[0], "-test.v", "-test.run=^TestPipeline", "-runner=universal", "-endpoint="+endpoint, "-environment_type=LOOPBACK").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"TestPipelineShards", "TestPipelineKeys", "TestPipelineRows", "TestPipelineTables", "TestPipelineFails"} {
		if !strings.Contains(string(out), "--- PASS: "+name) {
			t.Errorf("%s did not run\n%s", name, out)
		}
	}
	example(t, ctx, endpoint)
}

// example runs the program of the README, whose state is the command's.
func example(t *testing.T, ctx context.Context, endpoint string) {
	dir := t.TempDir()
	program, command := filepath.Join(dir, "example"), filepath.Join(dir, "candor")
	probs, labels := set(600)
	var files []string
	for i, rows := range [][2]int{{0, 250}, {250, 600}} {
		text := []byte("p_0,p_1,p_2,p_3,p_4,truth\n")
		for n := rows[0]; n < rows[1]; n++ {
			for _, v := range probs[n*classes : (n+1)*classes] {
				text = fmt.Appendf(text, "%v,", v)
			}
			text = fmt.Appendln(text, labels[n])
		}
		files = append(files, write(t, filepath.Join(dir, fmt.Sprint(i, ".csv")), text))
	}
	whole, state := filepath.Join(dir, "whole.state"), filepath.Join(dir, "all.state")
	for _, words := range [][]string{
		{"go", "build", "-o", program, "./example"},
		{"go", "build", "-C", "..", "-o", command, "./cmd/candor"},
		append([]string{command, "eval", "--prob-prefix", "p_", "--label", "truth", "--state", whole}, files...),
		append([]string{program, "-runner=universal", "-endpoint=" + endpoint, "-environment_type=LOOPBACK", "-label", "truth", "-output", state}, files...),
		{command, "merge", state},
	} {
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", words, err, out)
		}
	}
	got, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile(whole); err != nil || !bytes.Equal(got, want) {
		t.Error("the example writes another state than the command", err)
	}
}
