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

// A peers is a running peers.py, which measures one repetition for each line that it is sent.
type peers struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
	stderr bytes.Buffer
	hello  struct {
		Tools    []string          `json:"tools"`
		Versions map[string]string `json:"versions"`
		Absent   map[string]string `json:"absent"`
	}
}

// errNoNumPy is no failure: what is absent is named, and the rest is compared.
var errNoNumPy = errors.New("numpy cannot be imported")

// startPeers starts peers.py on a folder of data.
func startPeers(python, dir string) (*peers, error) {
	candidates := pythons
	if python != "" {
		candidates = []string{python}
	}
	for _, c := range candidates {
		if exec.Command(c, "-c", "import numpy").Run() != nil {
			continue
		}
		p := &peers{cmd: exec.Command(c, "-c", peersPy, dir, "--serve")}
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
	return nil, fmt.Errorf("%w by %s", errNoNumPy, strings.Join(candidates, " or "))
}

// describe prints what there is and what there is not.
func (p *peers) describe(out io.Writer) {
	for _, name := range []string{"numpy", "torch"} {
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
		list = append(list, tool{name, func(w workload, _ *metrics.Predictions) (s sample, err error) {
			if _, err := fmt.Fprintf(p.in, "%s\t%s\n", w.name, name); err != nil {
				return s, p.failed(err)
			}
			if err := p.out.Decode(&s); err != nil {
				return s, p.failed(err)
			}
			return s, nil
		}, name == "numpy"})
	}
	return list
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
		return fmt.Errorf("peers.py: %w\n%s", err, &p.stderr)
	}
	return nil
}
