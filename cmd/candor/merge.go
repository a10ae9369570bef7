package main

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics/eval"
)

func mergeCommand() *cobra.Command {
	var o output
	var to string
	c := &cobra.Command{
		Use:   "merge STATE...",
		Short: "Merge the states of shards",
		Long: `Merge states that candor eval --state has written: the document is, to the byte, the one of a single evaluation of
all the rows, in whatever order they are named. The states have to agree in classes, type of scores, metrics and
options, and in the columns that rows are grouped by. "-" is standard input.`,
		Example: `  candor merge shard-*.state
  candor merge monday.state tuesday.state -o week.state --json
  candor merge monday.state tuesday.state --plot week.pdf`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("no state is named; candor eval --state FILE writes one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(c); err != nil {
				return err
			}
			if err := checkFile("-o", to); err != nil {
				return err
			}
			if err := o.plot.checkFile("-o", to, args...); err != nil {
				return err
			}
			b, err := readStateFile(c.InOrStdin(), args[0])
			if err != nil {
				return badData(err)
			}
			if strings.HasPrefix(string(b), eval.MultilabelMagic) {
				return mergeLabels(c, &o, to, args, b)
			}
			var sum *eval.Evaluation
			var groups *eval.Groups
			seen := map[string]string{}
			for i, path := range args {
				if i > 0 {
					if b, err = readStateFile(c.InOrStdin(), path); err != nil {
						return badData(err)
					}
				}
				e, g, err := decodeGroups(b, path)
				if err != nil {
					return err
				}
				if i > 0 && (g == nil) != (groups == nil) {
					return badData(fmt.Errorf("%s against %s: one has groups of rows, the other has none; evaluate both with the same --group, or without", args[0], path))
				}
				id := e.SHA256()
				if twin, ok := seen[id]; ok {
					warn(c, "%s and %s are equal: are the same rows counted twice?", twin, path)
				}
				seen[id] = path
				if sum == nil {
					if err := o.plot.ready(e); err != nil {
						return err
					}
					sum, groups = e, g
					continue
				}
				if groups != nil {
					err = groups.Merge(g)
				}
				if err == nil {
					err = sum.Merge(e)
				}
				if err != nil {
					return badData(fmt.Errorf("%s against %s: %w; evaluate the shards with the same options, and merge like with like", args[0], path, err))
				}
			}
			if to != "" {
				b, err := stateOf(sum, groups)
				if err != nil {
					return err
				}
				if err := writeFile(to, b); err != nil {
					return err
				}
			}
			return o.write(c, sum, groups, "")
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVarP(&to, "output", "o", "", "write the merged state to `FILE`")
	o.flags(c)
	return c
}

// maxState bounds what is read as a state.
const maxState = 1 << 30

// stateOf returns the state of an evaluation, or of its groups where there are any.
func stateOf(e *eval.Evaluation, groups *eval.Groups) ([]byte, error) {
	if groups != nil {
		return groups.AppendBinary(nil)
	}
	return e.AppendBinary(nil)
}

// readState reads a state file, "-" from standard input: the evaluation of all rows, and its groups if there are any.
func readState(stdin io.Reader, path string) (*eval.Evaluation, *eval.Groups, error) {
	b, err := readStateFile(stdin, path)
	if err != nil {
		return nil, nil, badData(err)
	}
	return decodeGroups(b, path)
}

// decodeGroups reads the state of an evaluation, or of one by groups.
func decodeGroups(b []byte, path string) (*eval.Evaluation, *eval.Groups, error) {
	e := new(eval.Evaluation)
	if !bytes.HasPrefix(b, []byte(groupsMagic)) {
		return e, nil, decodeState(e, stateMagic, b, path)
	}
	g := new(eval.Groups)
	if err := decodeState(g, groupsMagic, b, path); err != nil {
		return nil, nil, err
	}
	// A copy, which is merged by itself.
	whole, err := g.Whole().AppendBinary(nil)
	if err != nil {
		return nil, nil, err
	}
	return e, g, e.UnmarshalBinary(whole)
}

// decodeState reads a state that begins with magic.
func decodeState(e encoding.BinaryUnmarshaler, magic string, b []byte, path string) error {
	if err := e.UnmarshalBinary(b); err != nil {
		remedy := "copy it again, or write it again with candor eval --state"
		switch {
		case len(b) == 0:
			err = errors.New("empty file")
		case isMagic(b) && !strings.HasPrefix(string(b), magic):
			remedy = "a state of several labels (--task multilabel) and one of a single set are not merged"
		case !isMagic(b):
			remedy = "candor merge takes the states that candor eval --state has written; predictions go to candor eval"
		}
		return badData(fmt.Errorf("%s: not a state that can be read: %w; %s", path, err, remedy))
	}
	return nil
}

func readStateFile(stdin io.Reader, path string) ([]byte, error) {
	if path == "-" {
		b, err := io.ReadAll(io.LimitReader(stdin, maxState+1))
		if err == nil && len(b) > maxState {
			err = fmt.Errorf("more than %d bytes are too many for a state", maxState)
		}
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return b, nil
	}
	fi, err := os.Stat(path)
	switch {
	case err != nil:
	case fi.IsDir():
		return nil, fmt.Errorf("%s: is a directory; name the state files in it", path)
	case fi.Size() > maxState:
		return nil, fmt.Errorf("%s: %d bytes are too many for a state; candor merge takes what candor eval --state has written", path, fi.Size())
	default:
		var b []byte
		if b, err = os.ReadFile(path); err == nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%s: %w; check the name and the permissions", path, unwrapPath(err))
}

// How states begin, of an evaluation and of one by groups.
const stateMagic, groupsMagic = "cSTA", "cGRP"

// isMagic tells whether a file begins as a state does.
func isMagic(b []byte) bool {
	return strings.HasPrefix(string(b), stateMagic) || strings.HasPrefix(string(b), groupsMagic) || strings.HasPrefix(string(b), eval.MultilabelMagic)
}

// unwrapPath takes the path off an error that would name it twice.
func unwrapPath(err error) error {
	var p *os.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}
