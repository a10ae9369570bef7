package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/candor-go/candor/internal/isa"
)

// A sample is one measurement.
type sample struct {
	rate  float64 // bytes a second
	probe float64 // multiply-adds a second of a thread, the lower of those just before and just after
}

// A series is what was measured of one thing in all rounds.
type series struct {
	level   isa.Level
	threads int
	work    *workload // nil: sequential read
	memory  *memory
	rows    int     // of the last sample
	fastest float64 // rows a second
	samples []sample
}

// minProbe is the share of the best probe that a sample's has to have for the sample to count.
const minProbe = 0.9

// figure returns the median rate and the median probe of the samples whose probe is at least minProbe of the best, and
// their number. If there is none, the sample with the best probe stands for all, and the number is 0.
func figure(samples []sample, best float64) (rate, probe float64, counted int) {
	var rates, probes []float64
	for _, s := range samples {
		if s.probe >= minProbe*best {
			rates, probes = append(rates, s.rate), append(probes, s.probe)
		}
	}
	if len(rates) == 0 {
		var top sample
		for _, s := range samples {
			if s.probe > top.probe {
				top = s
			}
		}
		return top.rate, top.probe, 0
	}
	return median(rates), median(probes), len(rates)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	if n == 0 {
		return 0
	}
	return (x[(n-1)/2] + x[n/2]) / 2
}

// probeKind is what probes are compared within: another number of threads, or another width of vectors, has another best.
type probeKind struct {
	level   isa.Level // AVX-512, or the one that stands for all others
	threads int
}

func (s *series) kind() probeKind {
	if s.level == isa.LevelAVX512 {
		return probeKind{isa.LevelAVX512, s.threads}
	}
	return probeKind{isa.LevelGeneric, s.threads}
}

// A group is what is measured one after another: sequential read and then each workload, at one level, with as many
// threads, on pages of one kind.
type group struct {
	read  *series
	works []*series
}

// A run is everything that is measured.
type run struct {
	plan   *plan
	levels []isa.Level // selected, lowest first
	huge   *memory
	small  *memory // nil where the system has no choice of pages
	groups []*group
	best   map[probeKind]float64
	plain  []*plainSort
	rounds int // done
}

// newRun makes the data and the list of what to measure.
func newRun(p *plan) (*run, error) {
	r := &run{plan: p, levels: p.levels, huge: newMemory(p.size, hugePages), best: map[probeKind]float64{}}
	memories := []*memory{r.huge}
	if pageChoice {
		r.small = newMemory(p.size, smallPages)
		memories = append(memories, r.small)
	}
	for _, m := range memories {
		for _, w := range p.works {
			if err := m.add(w); err != nil {
				r.close()
				return nil, err
			}
		}
	}
	for _, w := range p.works {
		if w.ranking == nil {
			continue
		}
		n := r.huge.ranked(w)
		if !slices.ContainsFunc(r.plain, func(p *plainSort) bool { return p.n == n }) {
			r.plain = append(r.plain, &plainSort{n: n})
		}
	}
	for _, l := range p.levels {
		for _, t := range p.threads {
			r.group(l, t, r.huge)
		}
	}
	if r.small != nil {
		r.group(r.top(), p.threads[0], r.small)
	}
	return r, nil
}

// top returns the highest of the levels that were selected.
func (r *run) top() isa.Level { return r.levels[len(r.levels)-1] }

func (r *run) group(l isa.Level, threads int, m *memory) {
	g := &group{read: &series{level: l, threads: threads, memory: m}}
	for _, w := range r.plan.works {
		g.works = append(g.works, &series{level: l, threads: threads, memory: m, work: w})
	}
	r.groups = append(r.groups, g)
}

func (r *run) close() {
	r.huge.close()
	if r.small != nil {
		r.small.close()
	}
}

// measure goes round: one sample of everything, and again. What moves in minutes, as another program's use of the memory
// does, moves all of them alike. It stops early where another round would not fit into the plan's limit.
func (r *run) measure(progress func(string)) {
	longest := time.Duration(0)
	for r.rounds = 0; r.rounds < r.plan.rounds; r.rounds++ {
		start := time.Now()
		if r.rounds > 0 && r.plan.limit > 0 && start.Sub(r.plan.start)+longest > r.plan.limit {
			break
		}
		// slices.Sort of many scores takes long: one or two samples have to do.
		for _, p := range r.plain {
			if r.rounds < r.plan.plain || p.n <= 1e6 {
				progress(fmt.Sprintf("slices.Sort of %d scores", p.n))
				r.samplePlain(p)
			}
		}
		start = time.Now()
		for _, g := range r.groups {
			for _, s := range append([]*series{g.read}, g.works...) {
				progress(fmt.Sprintf("round %d of %d: %v", r.rounds+1, r.plan.rounds, s))
				r.sample(s)
			}
		}
		longest = max(longest, time.Since(start))
	}
	progress("")
}

func (s *series) String() string {
	name := "read"
	if s.work != nil {
		name = s.work.name
	}
	return fmt.Sprintf("%s, %v, threads %d", name, s.level, s.threads)
}

// portion sets the rows of a sample that is to take about so long at the most: all that there are or, of a slow workload,
// as many as its fastest run suggests, of which the first is a short one that is no sample. A ranking has its own number.
func (s *series) portion(want time.Duration) {
	if s.work.ranking != nil {
		s.rows = s.memory.ranked(s.work)
		return
	}
	all := s.memory.size / s.work.rowBytes()
	least := min(all, max(1, (2<<20)/s.work.rowBytes()))
	if s.fastest == 0 {
		s.rows = least
		s.once()
	}
	s.rows = max(least, int(min(float64(all), want.Seconds()*s.fastest)))
}

// sample takes one, between two probes.
func (r *run) sample(s *series) {
	if s.work != nil {
		s.portion(r.plan.sample)
	}
	// Each sample leaves its buffers behind: they are collected here, and not within a later sample at its cost.
	runtime.GC()
	before := portRate(s.level, s.threads)
	took := s.once()
	after := portRate(s.level, s.threads)
	r.best[s.kind()] = max(r.best[s.kind()], before, after)
	s.samples = append(s.samples, sample{float64(s.bytes()) / took.Seconds(), min(before, after)})
}

// bytes returns the size of a sample's scores.
func (s *series) bytes() int {
	if s.work == nil {
		return s.memory.size
	}
	return s.rows * s.work.rowBytes()
}

// once goes through a sample's rows at the series' level and returns how long that took.
func (s *series) once() time.Duration {
	if s.work == nil {
		mem := s.memory.first.whole()
		start := time.Now()
		read(mem, s.threads)
		return since(start)
	}
	defer isa.Set(s.level)()
	var took time.Duration
	for runs := time.Duration(1); ; runs++ {
		first := s.memory.stores[s.work.store].window(s.rows, s.work.rowBytes())
		run := s.work.prepare(s.memory, first, s.rows, s.threads)
		start := time.Now()
		run()
		took += since(start)
		if s.work.ranking == nil || took >= shortest {
			took /= runs
			break
		}
	}
	s.fastest = max(s.fastest, float64(s.rows)/took.Seconds())
	return took
}

// shortest is how long a sample of a ranking takes at least: a million scores are sorted in a tenth of it, again and again.
const shortest = 30 * time.Millisecond

// since returns the time from start on, above 0 even where the clock ticks in milliseconds.
func since(start time.Time) time.Duration { return max(1, time.Since(start)) }
