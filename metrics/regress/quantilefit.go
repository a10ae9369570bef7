package regress

// quantileFit is isotonic regression of quantiles: of all z that rise, where x is equal with one value, it finds values that
// minimize the sum of w*(1[y < z] - tau)*(z - y).
//
// F(z) is the least loss of the blocks so far if the last has a value of at most z. It is convex, falls and ends flat, so
// that its slopes are sums of the weights of the breaks to the right: a heap with the largest break on top has all of it. A
// block adds the breaks y of its rows, which raise the slope at the right end to (1-tau)*W. Removing as much weight from the
// top makes it flat again, and the top is the least value where F is least. Time is n*log(n).
type quantileFit struct {
	tau  float64
	heap []heapBreak
	best []float64 // of each block
	ends []int     // of blocks among the rows
}

type heapBreak struct{ at, weight float64 }

// fit writes the values to z. Rows are in the order of x; w may be nil.
func (f *quantileFit) fit(x, y, w, z []float64) {
	f.heap, f.best, f.ends = f.heap[:0], f.best[:0], f.ends[:0]
	for from := 0; from < len(x); {
		to, total := from, 0.0
		for ; to < len(x) && x[to] == x[from]; to++ {
			weight := 1.0
			if w != nil {
				weight = w[to]
			}
			total += weight
			f.push(heapBreak{y[to], weight})
		}
		f.trim(float64(total * (1 - f.tau)))
		f.best, f.ends = append(f.best, f.heap[0].at), append(f.ends, to)
		from = to
	}
	for k := len(f.best) - 1; k >= 0; k-- {
		v, from := f.best[k], 0
		if k > 0 {
			from = f.ends[k-1]
		}
		if f.ends[k] < len(z) {
			v = min(v, z[f.ends[k]])
		}
		for i := from; i < f.ends[k]; i++ {
			z[i] = v
		}
	}
}

// trim removes weight from the top. The last break stays, whatever rounding does to the weights.
func (f *quantileFit) trim(weight float64) {
	for len(f.heap) > 1 && f.heap[0].weight <= weight {
		weight -= f.heap[0].weight
		last := len(f.heap) - 1
		f.heap[0] = f.heap[last]
		f.heap = f.heap[:last]
		f.sink()
	}
	f.heap[0].weight -= min(weight, f.heap[0].weight)
}

func (f *quantileFit) push(b heapBreak) {
	f.heap = append(f.heap, b)
	for i := len(f.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !(f.heap[i].at > f.heap[up].at) {
			return
		}
		f.heap[i], f.heap[up] = f.heap[up], f.heap[i]
		i = up
	}
}

func (f *quantileFit) sink() {
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < len(f.heap) && f.heap[down+1].at > f.heap[down].at {
			down++
		}
		if down >= len(f.heap) || !(f.heap[down].at > f.heap[i].at) {
			return
		}
		f.heap[i], f.heap[down] = f.heap[down], f.heap[i]
		i = down
	}
}
