//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/candor-go/candor/predictions"
)

// specimen is a small file, and a command that reads it.
type specimen struct {
	name string
	args []string
	// sealed says that the file has a checksum of its data: damage must never give another answer.
	sealed bool
	// needs are other files of the command.
	needs []string
}

// write writes a file of a trial.
func write(dir, name string, b []byte) error { return os.WriteFile(filepath.Join(dir, name), b, 0o666) }

// npy is an array of NumPy.
func npy(shape []int64, data any) []byte {
	var b bytes.Buffer
	if err := predictions.WriteNPY(&b, shape, data); err != nil {
		panic(err) // writing to memory does not fail, so the shape is wrong
	}
	return b.Bytes()
}

// classRows are probabilities of 3 classes and their labels.
func classRows(r *rand.Rand, n, classes int) (p []float64, y []int32) {
	for range n {
		sum, row := 0.0, make([]float64, classes)
		for j := range row {
			row[j] = math.Exp(2 * r.NormFloat64())
			sum += row[j]
		}
		u, label := r.Float64(), classes-1
		for j := range row {
			row[j] /= sum
			if u -= row[j]; u < 0 && label == classes-1 {
				label = j
			}
		}
		p, y = append(p, row...), append(y, int32(label))
	}
	return p, y
}

// specimens writes small files of all formats to a folder.
func (c *campaign) specimens(dir string) ([]specimen, error) {
	r := rand.New(rand.NewPCG(c.seed, 99))
	const rows = 12
	p, y := classRows(r, rows, 3)
	single := make([]float32, len(p))
	for i, v := range p {
		single[i] = float32(v)
	}
	var csv, lines strings.Builder
	csv.WriteString("p_cat,p_dog,p_owl,y,w,site\n")
	names := []string{"cat", "dog", "owl"}
	for i := range rows {
		fmt.Fprintf(&csv, "%.4f,%.4f,%.4f,%s,%d,%q\n", p[3*i], p[3*i+1], 1-math.Round(1e4*p[3*i])/1e4-math.Round(1e4*p[3*i+1])/1e4, names[y[i]], 1+i%2, names[i%3])
		fmt.Fprintf(&lines, "{\"p\": [%v, %v, %v], \"y\": %d}\n", single[3*i], single[3*i+1], single[3*i+2], y[i])
	}
	text := []byte(csv.String())
	files := map[string][]byte{"t.csv": text, "t.jsonl": []byte(lines.String()), "p.npy": npy([]int64{rows, 3}, single), "y.npy": npy([]int64{rows}, y),
		"q.npy": npy([]int64{rows, 3}, p), "b.npy": npy([]int64{rows}, p[:rows])}
	for name, b := range files {
		if err := write(dir, name, b); err != nil {
			return nil, err
		}
	}
	for _, extension := range []string{".parquet", ".arrow", ".arrows", ".csv.gz", ".csv.zst"} {
		f, _ := predictions.TableFormatOf("t" + extension)
		var b bytes.Buffer
		w, err := predictions.NewTableWriter(&b, f, []predictions.Column{{Name: "p_0", Type: predictions.Float64Column}, {Name: "p_1", Type: predictions.Float64Column},
			{Name: "p_2", Type: predictions.Float64Column}, {Name: "y", Type: predictions.Int64Column}})
		if err != nil {
			return nil, err
		}
		cells := make([]predictions.Cells, 4)
		for i := range rows {
			for j := range 3 {
				cells[j].Float64 = append(cells[j].Float64, p[3*i+j])
			}
			cells[3].Int64 = append(cells[3].Int64, int64(y[i]))
		}
		if err := w.Write(rows, cells); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		if err := write(dir, "t"+extension, b.Bytes()); err != nil {
			return nil, err
		}
	}
	head := fmt.Sprintf(`{"p":{"dtype":"F32","shape":[%d,3],"data_offsets":[0,%d]},"y":{"dtype":"I32","shape":[%[1]d],"data_offsets":[%[2]d,%d]}}`, rows, 12*rows, 16*rows)
	tensors := append([]byte{byte(len(head)), 0, 0, 0, 0, 0, 0, 0}, head...)
	if err := write(dir, "t.safetensors", append(append(tensors, predictions.NPYData(single)...), files["y.npy"][len(files["y.npy"])-4*rows:]...)); err != nil {
		return nil, err
	}
	for _, args := range []string{
		"eval p.npy --labels y.npy --state plain.state",
		"eval t.csv --prob-prefix p_ --label y --group site --state groups.state",
		"eval t.csv --prob-prefix p_ --label y --cluster site --state clusters.state",
		"compare p.npy q.npy --labels y.npy --state pair.state",
		"score p.npy --labels y.npy -o losses.npz",
		"recal fit temperature q.npy --labels y.npy -o temperature.json",
		"recal fit isotonic b.npy --labels z.npy -o isotonic.json",
	} {
		if strings.Contains(args, "z.npy") {
			z := make([]int32, rows)
			for i := range z {
				z[i] = int32(i % 2)
			}
			if err := write(dir, "z.npy", npy([]int64{rows}, z)); err != nil {
				return nil, err
			}
		}
		if _, err := c.must(dir, strings.Fields(args)...); err != nil {
			return nil, err
		}
	}
	one := func(name, args string, sealed bool, needs ...string) specimen {
		return specimen{name: name, args: append(strings.Fields(args), "--json"), sealed: sealed, needs: needs}
	}
	table := func(name string, sealed bool) specimen {
		return one(name, "eval "+name+" --prob-prefix p_ --label y", sealed)
	}
	return []specimen{
		table("t.csv", false), one("t.jsonl", "eval t.jsonl --prob p --label y", false), table("t.csv.gz", true), table("t.csv.zst", true),
		table("t.parquet", true), table("t.arrow", false), table("t.arrows", false), one("t.safetensors", "eval t.safetensors --prob p --label y", false),
		one("p.npy", "eval p.npy --labels y.npy", false, "y.npy"), one("y.npy", "eval p.npy --labels y.npy", false, "p.npy"),
		one("losses.npz", "compare losses.npz q.npy --labels y.npy", true, "q.npy", "y.npy"),
		one("plain.state", "merge plain.state", true), one("groups.state", "merge groups.state", true), one("clusters.state", "merge clusters.state", true),
		one("pair.state", "merge pair.state", true),
		{name: "temperature.json", args: strings.Fields("recal apply temperature.json q.npy -o -"), sealed: true, needs: []string{"q.npy"}},
		{name: "isotonic.json", args: strings.Fields("recal apply isotonic.json b.npy -o -"), sealed: true, needs: []string{"b.npy"}},
	}, nil
}
