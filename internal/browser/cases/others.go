package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// otherCases are of the commands other than eval, and of slices.
var otherCases = []pageCase{
	{"compare", small, func(s *set) []string {
		s.models(4000, 5, []float64{1.6, 1})
		return []string{"compare", "m0.npy", "m1.npy", "--labels", "l.npy"}
	}},
	{"compare-alike", small, func(s *set) []string {
		s.models(800, 3, []float64{1, 1.02})
		return []string{"compare", "m0.npy", "m1.npy", "--labels", "l.npy", "--margin", "nll=0.01", "--metrics", "default,accuracy"}
	}},
	{"compare-9", large, func(s *set) []string {
		args := []string{"compare", "--labels", "l.npy"}
		return append(args, s.models(3000, 10, []float64{.6, .8, 1, 1.2, 1.4, 1.6, 1.8, 2, 3})...)
	}},
	{"compare-groups", large, func(s *set) []string {
		s.two(60_000, func(i int) string { return fmt.Sprint("site ", i%1000) })
		return []string{"compare", "t.csv", "--prob", "old=a", "--prob", "new=b", "--label", "y", "--group", "g"}
	}},
	{"compare-groups-3", large, func(s *set) []string {
		p, l := s.binary(6000, 1)
		rows := [][]string{{"a", "b", "c", "y", "place", "age"}}
		for i := range p {
			z := math.Log(float64(p[i] / (1 - p[i])))
			rows = append(rows, []string{text(float64(p[i])), text(1 / (1 + math.Exp(-1.5*z))), text(1 / (1 + math.Exp(-z-.4*float64(i%3)))), fmt.Sprint(l[i]),
				[]string{"north", "south", "west"}[i%3], []string{"young", "old"}[i%2]})
		}
		s.csv("t.csv", rows)
		return []string{"compare", "t.csv", "--prob", "first=a", "--prob", "second=b", "--prob", "third=c", "--label", "y", "--group", "place", "--group", "age"}
	}},
	{"compare-clusters", small, func(s *set) []string {
		s.two(6000, func(i int) string { return fmt.Sprint("patient ", i/8) })
		return []string{"compare", "t.csv", "--prob", "old=a", "--prob", "new=b", "--label", "y", "--cluster", "g"}
	}},
	{"compare-forecasts", small, func(s *set) []string {
		for _, name := range []string{"f.csv", "g.csv"} {
			rows := [][]string{{"mean", "sd", "observed"}}
			for i := range 2000 {
				y := 10 * math.Sin(float64(i))
				rows = append(rows, []string{text(y + s.r.NormFloat64()), text(map[string]float64{"f.csv": 1, "g.csv": .6}[name]), text(y)})
			}
			s.csv(name, rows)
		}
		return []string{"compare", "f.csv", "g.csv", "--task", "regression"}
	}},
	{"compare-hostile", large, func(s *set) []string {
		p, l := s.binary(4500, 1)
		head := []string{"y", `<i>"group"`}
		args := []string{"compare", "t.csv", "--label", "y", "--group", `"<i>""group"""`, "--max-memory", "1GiB"}
		for i, name := range hostile[2:5] {
			head = append(head, fmt.Sprint("c", i))
			args = append(args, "--prob", `"`+strings.ReplaceAll(strings.ReplaceAll(name, `"`, `""`), "=", ":")+"=c"+fmt.Sprint(i)+`"`)
		}
		rows := [][]string{head}
		for i := range p {
			row := []string{fmt.Sprint(l[i]), hostile[i%len(hostile)]}
			for k := range hostile[2:5] {
				row = append(row, text(1/(1+math.Exp(-(.7+.1*float64(k))*math.Log(float64(p[i]/(1-p[i])))))))
			}
			rows = append(rows, row)
		}
		s.csv("t.csv", rows)
		return args
	}},
	{"merge", small, func(s *set) []string {
		p, l := s.classes(6000, 4, 1.4)
		args := []string{"merge"}
		for i := range 3 {
			s.npy("p.npy", p[i*2000*4:(i+1)*2000*4], 2000, 4)
			s.npy("l.npy", l[i*2000:(i+1)*2000], 2000)
			name := fmt.Sprintf("%d.state", i)
			s.run("eval", "p.npy", "--labels", "l.npy", "--metrics", "default,sce", "--state", name)
			args = append(args, name)
		}
		return args
	}},
	{"merge-groups", small, func(s *set) []string {
		args := []string{"merge"}
		for i := range 2 {
			s.two(4000, func(i int) string { return hostile[i%len(hostile)] })
			name := fmt.Sprintf("%d.state", i)
			s.run("eval", "t.csv", "--prob", "a", "--label", "y", "--group", "g", "--state", name)
			args = append(args, name)
		}
		return args
	}},
	{"merge-compared", small, func(s *set) []string {
		args := []string{"merge"}
		for i := range 2 {
			s.models(2000, 4, []float64{1.5, 1})
			name := fmt.Sprintf("%d.state", i)
			s.run("compare", "m0.npy", "m1.npy", "--labels", "l.npy", "--name", "m0.npy=old", "--name", "m1.npy=new", "--state", name)
			args = append(args, name)
		}
		return args
	}},
	{"drift", small, func(s *set) []string {
		for i, sharp := range []float64{1, 1.5} {
			s.run(append(s.matrix(5000, 4, sharp), "--state", []string{"june.state", "july.state"}[i])...)
		}
		return []string{"drift", "june.state", "july.state"}
	}},
	{"drift-none", small, func(s *set) []string {
		for i := range 2 {
			s.run(append(s.vector(3000, 1), "--state", []string{"june.state", "july.state"}[i])...)
		}
		return []string{"drift", "june.state", "july.state"}
	}},
	{"drift-forecasts", small, func(s *set) []string {
		for i, sd := range []float64{1, 1.6} {
			rows := [][]string{{"mean", "sd", "observed"}}
			for range 2000 {
				m := 10 * s.r.NormFloat64()
				rows = append(rows, []string{text(m), "1", text(m + sd*s.r.NormFloat64())})
			}
			s.csv("f.csv", rows)
			s.run("eval", "f.csv", "--task", "regression", "--state", []string{"june.state", "july.state"}[i])
		}
		return []string{"drift", "june.state", "july.state"}
	}},
	{"drift-hostile", small, func(s *set) []string {
		for _, name := range []string{`<b>"&'.state`, "\u202eevil{{.}}.state"} {
			s.two(3000, func(i int) string { return hostile[i%len(hostile)] })
			s.run("eval", "t.csv", "--prob", "a", "--label", "y", "--group", "g", "--state", name)
		}
		return []string{"drift", `<b>"&'.state`, "\u202eevil{{.}}.state"}
	}},
	{"recal-temperature", small, func(s *set) []string { return s.fit("temperature", 4000, 10, 1.6) }},
	{"recal-vector", small, func(s *set) []string { return s.fit("vector", 3000, 4, 1) }},
	{"recal-isotonic", small, func(s *set) []string {
		s.vector(3000, 1.7)
		return []string{"recal", "fit", "isotonic", "p.npy", "--labels", "l.npy"}
	}},
	{"recal-sigma", small, func(s *set) []string {
		rows := [][]string{{"mean", "sd", "observed"}}
		for range 2000 {
			m := 10 * s.r.NormFloat64()
			rows = append(rows, []string{text(m), "1", text(m + 1.7*s.r.NormFloat64())})
		}
		s.csv("f.csv", rows)
		return []string{"recal", "fit", "sigma", "f.csv"}
	}},
	{"recal-hostile", small, func(s *set) []string {
		s.two(3000, func(i int) string { return fmt.Sprint(i / 5) })
		return []string{"recal", "fit", "platt", "t.csv", "--prob", "a", "--label", "y", "--cluster", "g"}
	}},
	{"slices", small, func(s *set) []string {
		p, l := s.binary(12_000, 1.2)
		rows := [][]string{{"p", "y", "place", "age", "ward"}}
		for i := range p {
			place, age := s.r.IntN(3), 18+s.r.IntN(70)
			z := math.Log(float64(p[i] / (1 - p[i])))
			if place == 1 && age > 60 {
				z += 1
			}
			rows = append(rows, []string{text(1 / (1 + math.Exp(-z))), fmt.Sprint(l[i]), []string{"north", "south", "west"}[place], strconv.Itoa(age), fmt.Sprint("ward ", s.r.IntN(12))})
		}
		s.csv("t.csv", rows)
		return []string{"eval", "t.csv", "--prob", "p", "--label", "y", "--slice-by", "place,age,ward,score"}
	}},
	{"slices-none", small, func(s *set) []string {
		s.two(400, func(i int) string { return fmt.Sprint(i % 40) })
		return []string{"eval", "t.csv", "--prob", "a", "--label", "y", "--slice-by", "g"}
	}},
	{"slices-hostile", small, func(s *set) []string {
		s.two(4500, func(i int) string { return hostile[i%len(hostile)] })
		return []string{"eval", "t.csv", "--prob", "a", "--label", "y", "--slice-by", "g"}
	}},
}

// models writes l.npy, and m0.npy, m1.npy and so on: rows of k classes at each of the sharpnesses. It returns their names.
func (s *set) models(n, k int, sharp []float64) (names []string) {
	p, l := s.classes(n, k, 1)
	s.npy("l.npy", l, int64(n))
	for i, t := range sharp {
		q := make([]float32, len(p))
		for r := range n {
			sum := 0.
			for j := range k {
				sum += math.Pow(float64(p[r*k+j]), t)
			}
			for j := range k {
				q[r*k+j] = float32(math.Pow(float64(p[r*k+j]), t) / sum)
			}
		}
		names = append(names, fmt.Sprintf("m%d.npy", i))
		s.npy(names[i], q, int64(n), int64(k))
	}
	return names
}

// two writes t.csv with two models a and b, the label y and a column g.
func (s *set) two(n int, g func(i int) string) {
	p, l := s.binary(n, 1.5)
	rows := [][]string{{"a", "b", "y", "g"}}
	for i := range p {
		z := math.Log(float64(p[i] / (1 - p[i])))
		rows = append(rows, []string{text(float64(p[i])), text(1 / (1 + math.Exp(-z/1.5))), fmt.Sprint(l[i]), g(i)})
	}
	s.csv("t.csv", rows)
}

// fit writes rows of k classes, to which a method is fitted.
func (s *set) fit(method string, n, k int, sharp float64) []string {
	return append([]string{"recal", "fit", method}, s.matrix(n, k, sharp)[1:]...)
}
