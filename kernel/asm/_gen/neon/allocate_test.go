package neon

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		name, message string
		emit          func(f *Func)
	}{
		{"too many general registers", "function Name has too few registers: up to 25 values live in the 24 general ones", func(f *Func) {
			var r []*Reg
			for range len(generals) + 1 {
				r = append(r, f.General())
				f.Asm("MOVD (R0), %v", Def(r[len(r)-1]))
			}
			for _, x := range r {
				f.Asm("CMP $0, %v", Use(x))
			}
			f.Return()
		}},
		{"too many vector registers", "up to 33 in the 32 vector ones", func(f *Func) {
			var r []*Reg
			for range len(vectors) + 1 {
				r = append(r, f.Vector())
				f.Asm("FMOVQ (R0), %v", Def(r[len(r)-1]))
			}
			for _, x := range r {
				f.Asm("FMOVQ %v, (R0)", Use(x))
			}
			f.Return()
		}},
		{"a register that is never written", "nothing has written", func(f *Func) {
			f.Asm("CMP $0, %v", Use(f.General()))
			f.Return()
		}},
		{"a register that is not written on one way", "on a way on which nothing has written", func(f *Func) {
			a, b := f.General(), f.General()
			f.Asm("MOVD $1, %v", Def(a))
			f.Branch("CBZ %v,", "over", Use(a))
			f.Asm("MOVD $2, %v", Def(b))
			f.Label("over")
			f.Asm("CMP $0, %v", Use(b))
			f.Return()
		}},
		{"no such label", "has no label nowhere", func(f *Func) { f.Branch("JMP", "nowhere"); f.Return() }},
		{"a label twice", "has two labels here", func(f *Func) { f.Label("here"); f.Label("here") }},
		{"no end", "does not end with RET", func(f *Func) { f.Asm("PRFM (R0), PLDL1KEEP") }},
		{"no instructions", "does not end with RET", func(f *Func) {}},
		{"no register", "has an instruction without a register", func(f *Func) { f.Asm("CMP $0, %v", Use(nil)) }},
		{"no such instruction", "no instruction fadd of arrangement 8h", func(f *Func) { f.Do("fadd", "8h", 0, f.Vector()) }},
		{"operands that are too few", "takes 3 registers, not 2", func(f *Func) { f.Do("fadd", "4s", 0, f.Vector(), f.Vector()) }},
		{"a shift that is too far", "is not from 0 to 31", func(f *Func) { f.Do("shl", "4s", 32, f.Vector(), f.Vector()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if m := fmt.Sprint(recover()); !strings.Contains(m, c.message) {
					t.Errorf("panics with %q, want %q", m, c.message)
				}
			}()
			f := New("Name", 0)
			c.emit(f)
			_ = f.String()
		})
	}
}

// TestText looks at what small functions become.
func TestText(t *testing.T) {
	for _, c := range []struct {
		name, want string
		emit       func(f *Func)
	}{
		{"instructions whose results nothing reads", "RET", func(f *Func) {
			a, b := f.General(), f.General()
			f.Asm("MOVD x+0(FP), %v", Def(a))
			f.Move(b, a)
			f.Return()
		}},
		{"moves that need no instruction", "FMOVQ (R0), F0; FMOVQ 16(R0), F1; VFMLA V0.S4, V0.S4, V1.S4; FMOVQ 32(R0), F2; " +
			"VFMLA V0.S4, V1.S4, V2.S4; FMOVQ F2, (R0); RET", func(f *Func) {
			p, x := f.Vector(), f.Vector()
			f.Asm("FMOVQ (R0), %v", Def(x))
			f.Move(p, x)
			for i := 1; i <= 2; i++ {
				sum := f.Vector()
				f.Asm(fmt.Sprintf("FMOVQ %d(R0), %%v", 16*i), Def(sum))
				f.Do("fmla", "4s", 0, sum, p, x)
				f.Move(p, sum)
			}
			f.Asm("FMOVQ %v, (R0)", Use(p))
			f.Return()
		}},
		{"what is read in a loop lives to its end", "MOVD $1, R0; MOVD $9, R1; loop:; MOVD $2, R2; SUB R2, R1; SUB R0, R1; " +
			"CBNZ R1, loop; RET", func(f *Func) {
			one, n := f.General(), f.General()
			f.Asm("MOVD $1, %v", Def(one))
			f.Asm("MOVD $9, %v", Def(n))
			f.Label("loop")
			two := f.General()
			f.Asm("MOVD $2, %v", Def(two))
			f.Asm("SUB %v, %v", Use(two), Mod(n))
			f.Asm("SUB %v, %v", Use(one), Mod(n))
			f.Branch("CBNZ %v,", "loop", Use(n))
			f.Return()
		}},
		{"words", "FMOVQ 8(R0), F0; WORD $0x4e20d401 // fadd v1.4s, v0.4s, v0.4s; VSHL $3, V0.D2, V0.D2; " +
			"VADD V0.D2, V1.D2, V0.D2; FMOVQ F0, (R0); RET", func(f *Func) {
			p, a, b, c, d := f.General(), f.Vector(), f.Vector(), f.Vector(), f.Vector()
			f.Asm("MOVD x+0(FP), %v", Def(p))
			f.Asm("FMOVQ %v, %v", Mem{8, p}, Def(a))
			f.Do("fadd", "4s", 0, b, a, a)
			f.Do("shl", "2d", 3, c, a)
			f.Do("add", "2d", 0, d, b, c)
			f.Asm("FMOVQ %v, %v", Use(d), Mem{0, p})
			f.Return()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := New("Name", 8)
			c.emit(f)
			text, ok := strings.CutPrefix(f.String(), "TEXT ·Name(SB), NOSPLIT, $0-8\n")
			if !ok {
				t.Fatalf("starts otherwise: %s", text)
			}
			got := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\t' }), "; ")
			if got = strings.TrimPrefix(got, "MOVD x+0(FP), R0; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRandom runs random programs on virtual registers and, as printed, on physical ones. They have loops, ways round,
// nearly as many variables as there are registers, and constants, which may have to be repeated.
func TestRandom(t *testing.T) {
	repeated, moved := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := program{f: New("Random", 0), r: r}
		for i := range 8 + r.IntN(len(generals)-10) {
			p.vars = append(p.vars, p.f.General())
			p.step("MOVD", i*i+7, nil, nil, p.vars[i])
		}
		for i := range r.IntN(10) {
			p.consts = append(p.consts, p.f.General())
			p.step("CONST", 1000+i, nil, nil, p.consts[i])
		}
		p.block(4, 3)
		for _, v := range p.vars {
			p.step("OUT", 0, v, nil, nil)
		}
		p.step("RET", 0, nil, nil, nil)
		want := p.virtual()
		text := p.f.String()
		if strings.Count(text, "MOVD $10") > len(p.consts) {
			repeated++
		}
		moved += strings.Count(text, "MOVD R")
		if got := interpret(t, text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: got %v, want %v\n%s", seed, got, want, text)
		}
		for _, bad := range []string{"R16", "R17", "R18", "R27", "R28", "R29", "R30"} {
			if strings.Contains(text, bad) {
				t.Fatalf("seed %d: %s is not to be used", seed, bad)
			}
		}
	}
	if repeated == 0 || moved == 0 {
		t.Error("the programs are too simple: no constant was repeated, or nothing moved")
	}
	t.Logf("%d programs repeat constants", repeated)
}

// program is a function with what it does on virtual registers.
type program struct {
	f            *Func
	r            *rand.Rand
	vars, consts []*Reg
	steps        []step
	labels       int
}

type step struct {
	op      string
	n       int // a number, or where to jump
	a, b, d *Reg
}

func (p *program) step(op string, n int, a, b, d *Reg) {
	p.steps = append(p.steps, step{op, n, a, b, d})
	switch op {
	case "MOVD":
		p.f.Asm("MOVD $%v, %v", n, Def(d))
	case "CONST":
		p.f.Constant("MOVD $%v, %v", n, Def(d))
	case "MOVE":
		p.f.Move(d, a)
	case "ADD":
		p.f.Asm("ADD %v, %v, %v", Use(a), Use(b), Def(d))
	case "INC":
		p.f.Asm("ADD %v, %v", Use(a), Mod(d))
	case "DEC":
		p.f.Asm("SUB $1, %v", Mod(d))
	case "OUT":
		p.f.Asm("OUT %v", Use(a))
	case "LABEL":
		p.f.Label(fmt.Sprintf("l%d", n))
	case "CBNZ":
		p.f.Branch("CBNZ %v,", fmt.Sprintf("l%d", n), Use(a))
	case "RET":
		p.f.Return()
	}
}

func (p *program) block(length, depth int) {
	any := func() *Reg {
		k := p.r.IntN(len(p.vars) + len(p.consts))
		if k < len(p.vars) {
			return p.vars[k]
		}
		return p.consts[k-len(p.vars)]
	}
	one := func() *Reg { return p.vars[p.r.IntN(len(p.vars))] }
	for range length {
		switch k := p.r.IntN(9); {
		case k == 0:
			p.step("MOVD", p.r.IntN(2), nil, nil, one())
		case k == 1:
			p.step("INC", 0, any(), nil, one())
		case k == 2:
			p.step("OUT", 0, any(), nil, nil)
		case k == 3:
			// A value of its own, which is then copied.
			tmp := p.f.General()
			p.step("ADD", 0, any(), any(), tmp)
			p.step("MOVE", 0, tmp, nil, one())
		case k == 4:
			p.step("MOVE", 0, any(), nil, one())
		case k <= 6 || depth == 0:
			p.step("ADD", 0, any(), any(), one())
		case k == 7: // a way round
			p.labels++
			l := p.labels
			p.step("CBNZ", l, one(), nil, nil)
			p.block(5, depth-1)
			p.step("LABEL", l, nil, nil, nil)
		default: // a loop
			p.labels++
			l, n := p.labels, p.f.General()
			p.step("MOVD", 1+p.r.IntN(3), nil, nil, n)
			p.step("LABEL", l, nil, nil, nil)
			if depth == 3 { // more counters would not have registers
				p.block(8, 0)
			}
			p.step("DEC", 0, nil, nil, n)
			p.step("CBNZ", l, n, nil, nil)
		}
	}
}

// virtual runs the steps.
func (p *program) virtual() (out []int) {
	at := map[int]int{}
	for i, s := range p.steps {
		if s.op == "LABEL" {
			at[s.n] = i
		}
	}
	v := map[*Reg]int{}
	for i := 0; ; i++ {
		switch s := p.steps[i]; s.op {
		case "MOVD", "CONST":
			v[s.d] = s.n
		case "MOVE":
			v[s.d] = v[s.a]
		case "ADD":
			v[s.d] = v[s.a] + v[s.b]
		case "INC":
			v[s.d] += v[s.a]
		case "DEC":
			v[s.d]--
		case "OUT":
			out = append(out, v[s.a])
		case "CBNZ":
			if v[s.a] != 0 {
				i = at[s.n]
			}
		case "RET":
			return out
		}
	}
}

var words = regexp.MustCompile(`[A-Za-z0-9$]+`)

// interpret runs the text of a function.
func interpret(t *testing.T, text string) (out []int) {
	lines := strings.Split(text, "\n")[1:]
	at := map[string]int{}
	for i, l := range lines {
		if name, ok := strings.CutSuffix(l, ":"); ok {
			at[name] = i
		}
	}
	v := map[string]int{}
	value := func(s string) int {
		if n, ok := strings.CutPrefix(s, "$"); ok {
			k, _ := strconv.Atoi(n)
			return k
		}
		return v[s]
	}
	for i := 0; ; i++ {
		w := words.FindAllString(lines[i], -1)
		switch {
		case len(w) < 2 && lines[i] != "\tRET":
		case w[0] == "MOVD":
			v[w[2]] = value(w[1])
		case w[0] == "ADD" && len(w) == 4:
			v[w[3]] = v[w[1]] + v[w[2]]
		case w[0] == "ADD":
			v[w[2]] += v[w[1]]
		case w[0] == "SUB":
			v[w[2]]--
		case w[0] == "OUT":
			out = append(out, v[w[1]])
		case w[0] == "CBNZ":
			if v[w[1]] != 0 {
				i = at[w[2]]
			}
		case w[0] == "RET":
			return out
		default:
			t.Fatalf("unexpected: %s", lines[i])
		}
	}
}
