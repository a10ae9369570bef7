package candorbeam

import (
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
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
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
}
