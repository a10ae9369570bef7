package main

// logs emits natural logarithms as float64 of elements that are float32 or widen to it.
func logs(m Machine) {
	for _, s := range []Source{FromF32, FromF16, FromBF16} {
		k := kernelOf(m, F32)
		name := "Logs" + s.String()
		m.Func(name, name+` writes the natural logarithms of n elements, a multiple of 16 that is not 0, to dst.`,
			[]Arg{{"dst", "*float64"}, {"x", s.elementType()}, {"n", "int"}}, nil)
		dst, x, n := m.Arg("dst"), m.Arg("x"), m.Arg("n")
		regs := k.step * 8 / m.Width() // of F64 in a step
		v := vector64{bundler{m}}
		side := sideBySide(m)
		m.Label("elements")
		for i := 0; i < regs; i += side {
			var b bundle
			for _, y := range k.loadFrom(s, x, i, side) {
				b = append(b, y)
			}
			for j, y := range v.ln(b).(bundle) {
				m.Store(dst, (i+j)*m.Width(), y)
			}
		}
		m.AddR(dst, regs*m.Width())
		m.AddR(x, k.stepBytes(s))
		m.SubR(n, k.step)
		m.If(n, GT, 0, "elements")
		m.Return()
	}
}
