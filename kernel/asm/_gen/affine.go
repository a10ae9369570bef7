package main

// What maps packed rows of float64 and adds up the gradient by the map's parameters: the Go definitions are in kernel/affine.go.

func affine(m Machine) {
	a := affineKernel{kernelOf(m, F64)}
	a.packColumns()
	a.addProducts()
	a.scaleShift()
	a.addRows("AddRowsF64", false)
	a.addRows("AddScaledRowsF64", true)
}

// affineKernel is a Machine whose registers stand for columns.
type affineKernel struct{ kernel }

// blockRows is how many rows of a product stand in registers at a time, blockUnits how many times 64 bytes of each: some 24
// accumulators of 32 registers, 12 of 16.
func (a affineKernel) blockRows() int {
	if a.Level() == "avx512" {
		return 8
	}
	return 6
}

func (a affineKernel) blockUnits() int {
	if a.Level() == "avx512" {
		return 3
	}
	return 1
}

// load loads so many times 64 bytes.
func (a affineKernel) load(p R, units int) (v []V) {
	for i := range units * a.units {
		v = append(v, a.Load(p, i*a.Width()))
	}
	return v
}

func (a affineKernel) store(p R, v []V) {
	for i := range v {
		a.Store(p, i*a.Width(), v[i])
	}
}

// packColumns emits the copy of some columns of a matrix: its rows are far from each other, and in a matrix of 1,024 columns
// their places in a cache are the same.
func (a affineKernel) packColumns() {
	a.Func("PackColumnsF64", `PackColumnsF64 copies the first cols columns of n rows, n > 0, which are stride elements apart, to rows
		that follow each other: cols is a multiple of 8, or less than 8, and then zeros make up a row of 8.`,
		[]Arg{{"to", "*float64"}, {"from", "*float64"}, {"n", "int"}, {"stride", "int"}, {"cols", "int"}}, nil)
	to, from, n, stride, cols := a.Arg("to"), a.Arg("from"), a.Arg("n"), a.Arg("stride"), a.Arg("cols")
	a.ShlR(stride, 3)
	a.If(cols, LT, 8, "few")
	a.Label("row")
	p, left := a.CopyR(from), a.CopyR(cols)
	a.Label("unit")
	a.store(to, a.load(p, 1))
	a.AddR(p, 64)
	a.AddR(to, 64)
	a.SubR(left, 8)
	a.If(left, GT, 0, "unit")
	a.AddR(from, stride)
	a.SubR(n, 1)
	a.If(n, GT, 0, "row")
	a.Jump("done")
	a.Label("few")
	a.store(to, a.LoadFirst(FromF64, from, cols))
	a.AddR(from, stride)
	a.AddR(to, 64)
	a.SubR(n, 1)
	a.If(n, GT, 0, "few")
	a.Label("done")
	a.Return()
}

// addProducts emits the product of matrices, a block of the result in registers at a time.
func (a affineKernel) addProducts() {
	a.Func("AddProductsF64", `AddProductsF64 writes c + x y to rows of cols columns, which are toStride elements apart: chains of n > 0
		fused multiply-adds from the elements of c on, whose rows are cStride elements apart. Element (i, s) of x is x[i*row+s*step].
		The rows of y are packed by PackColumnsF64. cols is a multiple of 8, at most 24 at avx512 and 8 elsewhere, or less than 8.`,
		[]Arg{{"to", "*float64"}, {"toStride", "int"}, {"c", "*float64"}, {"cStride", "int"}, {"x", "*float64"}, {"row", "int"},
			{"step", "int"}, {"y", "*float64"}, {"n", "int"}, {"rows", "int"}, {"cols", "int"}}, nil)
	to, c, x, rows := a.Arg("to"), a.Arg("c"), a.Arg("x"), a.Arg("rows")
	row := a.Arg("row")
	a.ShlR(row, 3)
	row3 := a.CopyR(row) // three rows on
	a.AddR(row3, row)
	a.AddR(row3, row)
	step := a.Arg("step")
	a.ShlR(step, 3)
	bytes := func(name string) R {
		r := a.Arg(name)
		a.ShlR(r, 3)
		return r
	}
	// block emits so many rows of so many units, of the last of which only the first columns exist where part is set.
	block := func(name string, some, units int, part bool) {
		var sums [][]V
		p, apart := a.CopyR(c), bytes("cStride")
		for range some {
			if part {
				sums = append(sums, a.LoadFirst(FromF64, p, a.Arg("cols")))
			} else {
				sums = append(sums, a.load(p, units))
			}
			a.AddR(p, apart)
		}
		// What the next block adds to is far from here, and its rows from each other.
		next := a.CopyR(p)
		for range some {
			a.Prefetch(next, 0)
			for u := range units {
				a.Prefetch(next, 64*u+56)
			}
			a.AddR(next, apart)
		}
		y, left, at := a.Arg("y"), a.Arg("n"), []R{a.CopyR(x)}
		if some > 4 {
			four := a.CopyR(x)
			a.AddR(four, row3)
			a.AddR(four, row)
			at = append(at, four)
		}
		a.Label(name)
		ys := a.load(y, units)
		for i := range some {
			var v V
			switch p := at[i/4]; i % 4 {
			case 0:
				v = a.Broadcast(F64, p, 0)
			case 1:
				v = a.BroadcastAt(F64, p, row, 1)
			case 2:
				v = a.BroadcastAt(F64, p, row, 2)
			case 3:
				v = a.BroadcastAt(F64, p, row3, 1)
			}
			for u := range ys {
				a.FMATo(F64, sums[i][u], v, ys[u])
			}
		}
		a.AddR(y, 64*units)
		for _, p := range at {
			a.AddR(p, step)
		}
		a.SubR(left, 1)
		a.If(left, GT, 0, name)
		apart = bytes("toStride")
		for i := range some {
			if part {
				a.StoreFirst(F64, to, a.Arg("cols"), sums[i])
			} else {
				a.store(to, sums[i])
			}
			a.AddR(to, apart)
		}
		for range some {
			a.AddR(x, row)
		}
		a.MoveR(c, p)
	}
	panel := func(name string, units int, part bool) {
		most := a.blockRows()
		a.If(rows, LT, most, name+"_fewer")
		a.Label(name)
		block(name+"_block", most, units, part)
		a.SubR(rows, most)
		a.If(rows, GE, most, name)
		a.Label(name + "_fewer")
		for some := 4; some > 0; some /= 2 {
			next := name + "_below" + string(rune('0'+some))
			a.If(rows, LT, some, next)
			block(name+"_rows"+string(rune('0'+some)), some, units, part)
			a.SubR(rows, some)
			a.Label(next)
		}
	}
	for units := a.blockUnits(); units > 0; units-- {
		name := "units" + string(rune('0'+units))
		a.If(a.Arg("cols"), LT, 8*units, name+"_not")
		panel(name, units, false)
		a.Jump("done")
		a.Label(name + "_not")
	}
	panel("part", 1, true)
	a.Label("done")
	a.Return()
}

// columns emits body for all of k columns, some registers at a time: load and store are those of as many.
func (a affineKernel) columns(k R, pointers []R, body func(name string, load func(p R) []V, store func(p R, v []V))) {
	many := 2
	if a.Level() == "avx512" {
		many = 4
	}
	for _, units := range []int{many, 1} {
		name := "units" + string(rune('0'+units))
		a.If(k, LT, 8*units, name+"_end")
		a.Label(name)
		body(name, func(p R) []V { return a.load(p, units) }, a.store)
		for _, p := range pointers {
			a.AddR(p, 64*units)
		}
		a.SubR(k, 8*units)
		a.If(k, GE, 8*units, name)
		a.Label(name + "_end")
	}
	a.If(k, EQ, 0, "done")
	body("rest", func(p R) []V { return a.LoadFirst(FromF64, p, k) }, func(p R, v []V) { a.StoreFirst(F64, p, k, v) })
	a.Label("done")
}

func (a affineKernel) scaleShift() {
	a.Func("ScaleShiftF64", `ScaleShiftF64 writes x * a + b, rounded once, to dst, which may be x itself: rows, at least one, of k
		elements. a and b have k.`, []Arg{{"dst", "*float64"}, {"x", "*float64"}, {"a", "*float64"}, {"b", "*float64"}, {"rows", "int"},
		{"k", "int"}}, nil)
	dst, x, p, q, k := a.Arg("dst"), a.Arg("x"), a.Arg("a"), a.Arg("b"), a.Arg("k")
	stride := a.Arg("k")
	a.ShlR(stride, 3)
	a.columns(k, []R{dst, x, p, q}, func(name string, load func(R) []V, store func(R, []V)) {
		scale, shift := load(p), load(q)
		from, to, left := a.CopyR(x), a.CopyR(dst), a.Arg("rows")
		a.Label(name + "_rows")
		v := load(from)
		for i := range v {
			v[i] = a.FMA(F64, v[i], scale[i], shift[i])
		}
		store(to, v)
		a.AddR(from, stride)
		a.AddR(to, stride)
		a.SubR(left, 1)
		a.If(left, GT, 0, name+"_rows")
	})
	a.Return()
}

// addRows emits sums over rows, and if they are scaled those of products beside them.
func (a affineKernel) addRows(name string, scaled bool) {
	doc := name + " adds rows, at least one, of k elements at d to those at to"
	args := []Arg{{"to", "*float64"}, {"d", "*float64"}, {"rows", "int"}, {"k", "int"}}
	if scaled {
		doc += ", and their products with those at x, fused, to products"
		args = append(args, Arg{"products", "*float64"}, Arg{"x", "*float64"})
	}
	a.Func(name, doc+".", args, nil)
	g, d, k := a.Arg("to"), a.Arg("d"), a.Arg("k")
	stride := a.Arg("k")
	a.ShlR(stride, 3)
	pointers := []R{g, d}
	var gx, x R
	if scaled {
		gx, x = a.Arg("products"), a.Arg("x")
		pointers = append(pointers, gx, x)
	}
	a.columns(k, pointers, func(name string, load func(R) []V, store func(R, []V)) {
		sums, p, left := load(g), a.CopyR(d), a.Arg("rows")
		var products []V
		var q R
		if scaled {
			products, q = load(gx), a.CopyR(x)
		}
		a.Label(name + "_rows")
		v := load(p)
		if scaled {
			for i, w := range load(q) {
				a.FMATo(F64, products[i], v[i], w)
			}
			a.AddR(q, stride)
		}
		for i := range v {
			a.AddTo(F64, sums[i], v[i])
		}
		a.AddR(p, stride)
		a.SubR(left, 1)
		a.If(left, GT, 0, name+"_rows")
		store(g, sums)
		if scaled {
			store(gx, products)
		}
	})
	a.Return()
}
