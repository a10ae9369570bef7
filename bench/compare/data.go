package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// A workload is a matrix of logits with labels, a vector of probabilities of y = 1, or a matrix of probabilities.
type workload struct {
	name    string
	classes int // 1: binary
	dtype   metrics.DType
	bins    int // of equal mass, for each class of probabilities; 0: logits, or one event's probabilities
}

var workloads = []workload{
	{"eval_f32_k10", 10, metrics.Float32, 0},
	{"eval_f32_k100", 100, metrics.Float32, 0},
	{"eval_f32_k1000", 1000, metrics.Float32, 0},
	{"eval_f32_k32000", 32000, metrics.Float32, 0},
	{"eval_bf16_k128256", 128256, metrics.BFloat16, 0},
	{"binary_f32", 1, metrics.Float32, 0},
	{"ace30_f32_k1000", 1000, metrics.Float32, 30},
	{"ace15_f32_k1000", 1000, metrics.Float32, 15},
}

// aceRows is the most rows that are sorted class by class.
const aceRows = 50_000

func (w workload) rowBytes() int { return w.classes * w.dtype.Size() }

// rows returns how many rows fit into size bytes; there is always one.
func (w workload) rows(size int) int {
	n := max(1, size/w.rowBytes())
	if w.bins > 0 {
		n = min(n, aceRows)
	}
	return n
}

// generate returns the workload's data, the same ones each time. Confidences spread over all bins, and about half of the
// rows are right.
func (w workload) generate(size int) *metrics.Predictions {
	n, k := w.rows(size), w.classes
	r := rand.New(rand.NewPCG(1, uint64(k)))
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, n)}
	p.Rows, p.Classes = n, k
	switch {
	case k == 1:
		p.Kind, p.F32 = metrics.Probs, alloc[float32](n)
		for i := range p.F32 {
			z := 2 * r.NormFloat64()
			p.F32[i] = float32(sigmoid(z))
			if r.Float64() < sigmoid(0.7*z) { // overconfident
				p.Labels[i] = 1
			}
		}
	case w.dtype == metrics.BFloat16:
		p.BF16 = alloc[uint16](n * k)
		fill(r, p, func(i int, x float64) { p.BF16[i] = uint16(math.Float32bits(float32(x)) >> 16) })
	default:
		p.F32 = alloc[float32](n * k)
		fill(r, p, func(i int, x float64) { p.F32[i] = float32(x) })
	}
	if w.bins > 0 {
		p.Kind = metrics.Probs
		kernel.SoftmaxF32(p.F32, k, p.F32, n, k, k)
	}
	return p
}

// fill draws logits and labels. The label's logit is lifted to about the largest that the others are expected to reach.
func fill(r *rand.Rand, p *metrics.Predictions, set func(i int, x float64)) {
	const spread = 3
	k := p.Classes
	reach := spread * math.Sqrt(2*math.Log(float64(k)))
	for i := range p.Rows {
		y := r.IntN(k)
		p.Labels[i] = int32(y)
		for j := range k {
			x := spread * r.NormFloat64()
			if j == y {
				x += reach * (0.3 + r.Float64())
			}
			set(i*k+j, x)
		}
	}
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

// alloc returns memory in huge pages where there are any, as numpy's is.
func alloc[T any](n int) []T {
	x := make([]T, n)
	adviseHuge(unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), n*int(unsafe.Sizeof(x[0]))))
	return x
}

// write stores the data as NAME.npy and NAME.labels.npy; bfloat16 as the uint16 of its bits.
func (w workload) write(dir string, p *metrics.Predictions) error {
	shape := fmt.Sprintf("(%d, %d)", p.Rows, p.Classes)
	if w.classes == 1 {
		shape = fmt.Sprintf("(%d,)", p.Rows)
	}
	name := filepath.Join(dir, w.name)
	var err error
	if w.dtype == metrics.BFloat16 {
		err = writeNPY(name+".npy", "<u2", shape, p.BF16)
	} else {
		err = writeNPY(name+".npy", "<f4", shape, p.F32)
	}
	if err != nil {
		return err
	}
	return writeNPY(name+".labels.npy", "<i4", fmt.Sprintf("(%d,)", p.Rows), p.Labels)
}

// writeNPY writes an array of .npy version 1.0.
func writeNPY[T any](name, descr, shape string, x []T) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	b := bufio.NewWriterSize(f, 1<<20)
	const magic, align = "\x93NUMPY\x01\x00", 64
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	header += strings.Repeat(" ", align-1-(len(magic)+2+len(header))%align) + "\n"
	io.WriteString(b, magic) // a bufio.Writer keeps its first error for Flush
	binary.Write(b, binary.LittleEndian, uint16(len(header)))
	io.WriteString(b, header)
	for part := 1 << 16; len(x) > 0; x = x[part:] {
		part = min(part, len(x))
		binary.Write(b, binary.LittleEndian, x[:part])
	}
	return b.Flush()
}
