package main

// logs emits natural logarithms of float32 as float64.
func logs(m Machine) {
	k := kernelOf(m, F32)
	m.Func("LogsF32", "LogsF32 writes the natural logarithms of n elements, a multiple of 16 that is not 0, to dst.",
		[]Arg{{"dst", "*float64"}, {"x", "*float32"}, {"n", "int"}}, nil)
	dst, x, n := m.Arg("dst"), m.Arg("x"), m.Arg("n")
	regs := k.step * 8 / m.Width() // of F64 in a step
	v := vector64{bundler{m}}
	side := sideBySide(m)
	m.Label("elements")
	for i := 0; i < regs; i += side {
		var b bundle
		for _, y := range k.loadFrom(FromF32, x, i, side) {
			b = append(b, y)
		}
		for j, y := range v.ln(b).(bundle) {
			m.Store(dst, (i+j)*m.Width(), y)
		}
	}
	m.AddR(dst, regs*m.Width())
	m.AddR(x, k.stepBytes(FromF32))
	m.SubR(n, k.step)
	m.If(n, GT, 0, "elements")
	m.Return()
}
