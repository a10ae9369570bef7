package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// pythons are tried in turn: the first in PATH may be one that does not see the distribution's packages.
var pythons = []string{"python3", "/usr/bin/python3"}

// peersPy runs embedded, so that the folder that this program is started in does not matter.
//
//go:embed peers.py
var peersPy string

// A peers is a running peers.py or files.py, which measures one repetition for each line that it is sent.
type peers struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
	hello  struct {
		Tools    []string            `json:"tools"`
		Files    map[string][]string `json:"files"` // tools, by the names of files
		Versions map[string]string   `json:"versions"`
		Absent   map[string]string   `json:"absent"`
	}
}

// errNoNumPy is no failure: what is absent is named, and the rest is compared.
var errNoNumPy = errors.New("numpy cannot be imported")

// pythonWith returns the first Python that can import some modules.
func pythonWith(python, modules string) (path, tried string) {
	candidates := pythons
	if python != "" {
		candidates = []string{python}
	}
	for _, c := range candidates {
		if exec.Command(c, "-c", "import "+modules).Run() == nil {
			return c, ""
		}
	}
	return "", strings.Join(candidates, " or ")
}

// startPeers starts peers.py on a folder of data.
func startPeers(python, dir string) (*peers, error) {
	path, tried := pythonWith(python, "numpy")
	if path == "" {
		return nil, fmt.Errorf("%w by %s", errNoNumPy, tried)
	}
	return serve("peers.py", path, peersPy, dir)
}

// serve starts a program on a folder of data.
func serve(name, python, program, dir string) (*peers, error) {
	p := &peers{name: name, cmd: exec.Command(python, "-c", program, dir, "--serve")}
	p.cmd.Stderr = &p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.in, p.out = in, json.NewDecoder(out)
	if err := p.out.Decode(&p.hello); err != nil {
		return nil, p.failed(err)
	}
	return p, nil
}

// describe prints what there is and what there is not.
func (p *peers) describe(out io.Writer, names ...string) {
	for _, name := range names {
		if v, ok := p.hello.Versions[name]; ok {
			fmt.Fprintf(out, "%-10s %s\n", name, v)
		} else {
			fmt.Fprintf(out, "%-10s absent: %s\n", name, p.hello.Absent[name])
		}
	}
}

// tools returns those that the process offers.
func (p *peers) tools() []tool {
	var list []tool
	for _, name := range p.hello.Tools {
		list = append(list, tool{name, func(w workload, _ *metrics.Predictions) (sample, error) {
			return p.ask(w.name, name)
		}, name == "numpy"})
	}
	return list
}

// ask returns one repetition.
func (p *peers) ask(workload, tool string) (s sample, err error) {
	if _, err := fmt.Fprintf(p.in, "%s\t%s\n", workload, tool); err != nil {
		return s, p.failed(err)
	}
	if err := p.out.Decode(&s); err != nil {
		return s, p.failed(err)
	}
	return s, nil
}

// failed ends the process and adds what it complained of to an error.
func (p *peers) failed(err error) error {
	return errors.Join(err, p.close())
}

// close ends the process, which stops at the end of its input. It may be called again.
func (p *peers) close() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	p.in.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, err, &p.stderr)
	}
	return nil
}
