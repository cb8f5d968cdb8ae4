package main

import (
	"cmp"
	"fmt"
	"slices"

	"bellows"
	"bellows/experiments/internal/report"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/policy/shape"
	"bellows/sim/lab"
)

// mixture is a shape of machines of two kinds. The parts of a faster machine are in tenths of those of a slower one.
type mixture struct {
	Slow       counts `json:"slower"`
	Fast       counts `json:"faster"`
	Splits     int    `json:"splits_tenths"`
	Partitions int    `json:"partitions_tenths"`
}

// String returns the mixture like the paper: (W:25+2, S:3+2).
func (x mixture) String() string {
	return fmt.Sprintf("(W:%d+%d, S:%d+%d) with %.1f times the splits and %.1f times the partitions", x.Slow.Workers, x.Fast.Workers, x.Slow.Servers,
		x.Fast.Servers, float64(x.Splits)/10, float64(x.Partitions)/10)
}

// unlike is a job on machines of two kinds (Figure 8).
type unlike struct {
	Job        string  `json:"job"`
	From       mixture `json:"from"`
	Seconds    float64 `json:"seconds"`     // of an epoch there
	SharesOnly float64 `json:"shares_only"` // if only the parts go by the speed of the machines
	Chosen     mixture `json:"chosen"`      // by the job
	After      float64 `json:"after"`       // seconds in the shape that it chose
	Shorter    float64 `json:"shorter"`     // as a part of Seconds
	Best       mixture `json:"best_of_search"`
	BestTime   float64 `json:"best_seconds"`
	Plays      int     `json:"plays"`
	OfBest     float64 `json:"of_best"`
	Expected   float64 `json:"expected"` // by the job, of its choice
}

// faster is how many times the cores of others, and the rates of their links, one in eight machines has. even and twice
// are shares.
const (
	faster     = 2
	fasterPart = 8
	even       = 10
	twice      = even * faster
)

// slower returns how many machines are of the slower kind.
func (p *plan) slower() int { return p.nodes - max(1, p.nodes/fasterPart) }

// mixed returns the shape in which the paper's jobs begin on machines of two kinds: half of the faster ones work.
func (p *plan) mixed(j *job) mixture {
	slow := p.slower()
	servers := slow * 3 / 28
	if j.order.App == "mlr" {
		servers = slow * 12 / 28
	}
	servers = max(1, servers)
	serve := (p.nodes - slow) / 2
	return mixture{counts{Workers: slow - servers, Servers: servers}, counts{Workers: p.nodes - slow - serve, Servers: serve}, even, even}
}

// search plays shapes of one job, each once, up to a number of plays.
type search struct {
	p      *plan
	j      *job
	from   shape.Snapshot
	played map[mixture]float64
	left   int
}

// mix makes a job on machines of two kinds. The last ones are faster.
func (p *plan) mix(j *job, clocks int) (*made, error) {
	m, err := p.make(j, clocks)
	if err != nil {
		return nil, err
	}
	for i := 1 + p.slower(); i <= p.nodes; i++ {
		m.Site.Nodes[i].Slots, m.Site.Nodes[i].Lanes = faster, faster
		at := &m.Site.Machines[i]
		at.Cores, at.Up, at.Down = faster, at.Up*faster, at.Down*faster
	}
	return m, nil
}

// roles returns the role of each node in a mixture.
func (p *plan) roles(x mixture) []lab.Role {
	return slices.Concat(rolesOf(x.Slow), rolesOf(x.Fast)[1:])
}

// deal returns the shape of a mixture.
func (s *search) deal(m *made, x mixture) (shape.Shape, error) {
	first := m.Deal(s.p.roles(x))
	shares := shape.Shares{Splits: map[bellows.NodeID]int{}, Partitions: map[bellows.NodeID]int{}}
	for _, n := range first.Nodes {
		splits, partitions := even, even
		if int(n.ID) > s.p.slower() {
			splits, partitions = x.Splits, x.Partitions
		}
		if n.Slots > 0 {
			shares.Splits[n.ID] = splits
		}
		if n.Lanes > 0 {
			shares.Partitions[n.ID] = partitions
		}
	}
	d, err := shape.DealShares(s.from, first.Nodes, shares)
	return d.Shape, err
}

// play returns the seconds of an epoch in a mixture; 0: no plays are left.
func (s *search) play(x mixture) (float64, error) {
	if seconds, known := s.played[x]; known || s.left == 0 {
		return seconds, nil
	}
	s.left--
	m, err := s.p.mix(s.j, 0)
	if err != nil {
		return 0, err
	}
	first, err := s.deal(m, x)
	if err != nil {
		return 0, err
	}
	seconds, _, err := m.begin(&first)
	s.played[x] = seconds
	return seconds, err
}

// neighbours returns the mixtures that differ in the roles of a few nodes, or in shares.
func (x mixture) neighbours() (list []mixture) {
	add := func(c *counts, n int) {
		if was := *c; was.Workers+n >= 0 && was.Servers-n >= 0 {
			c.Workers, c.Servers = was.Workers+n, was.Servers-n
			if x.Slow.Workers+x.Fast.Workers > 0 && x.Slow.Servers+x.Fast.Servers > 0 {
				list = append(list, x)
			}
			*c = was
		}
	}
	for _, n := range []int{4, -4, 1, -1} {
		add(&x.Slow, n)
	}
	for _, n := range []int{2, -2, 1, -1} {
		add(&x.Fast, n)
	}
	for _, share := range []*int{&x.Splits, &x.Partitions} {
		was := *share
		for _, n := range []int{even / 2, -even / 2} {
			if *share = was + n; *share >= even/2 {
				list = append(list, x)
			}
		}
		*share = was
	}
	return list
}

// climb goes from a mixture to faster neighbours, until all are slower.
func (s *search) climb(x mixture) error {
	now, err := s.play(x)
	for err == nil && now > 0 {
		better := false
		for _, y := range x.neighbours() {
			var seconds float64
			if seconds, err = s.play(y); err == nil && seconds > 0 && seconds < now {
				x, now, better = y, seconds, true
				break
			}
		}
		if !better {
			break
		}
	}
	return err
}

// follow lets a job measure itself in a shape, and go to what it chooses. It returns what the job has in every shape.
func (p *plan) follow(j *job, u *unlike) (now shape.Snapshot, err error) {
	m, err := p.mix(j, gauge.ClocksLeast+12)
	if err != nil {
		return now, err
	}
	now.Shape = m.Deal(p.roles(u.From))
	m.Measure = true
	_, result, err := m.begin(&now.Shape)
	if err == nil {
		err = result.Missing
	}
	if err != nil {
		return now, err
	}
	now.Job = result.Figures.Job()
	found, err := choose.Find(result.Figures, choose.Ask{Apart: true})
	if err != nil {
		return now, err
	}
	u.Expected, u.Chosen = found.Epoch.Value, p.mixtureOf(&found.Shape)
	if m, err = p.mix(j, 0); err == nil {
		u.After, _, err = m.begin(&found.Shape)
	}
	return now, err
}

// compare lets a job choose its shape on machines of two kinds, and searches for a better one by playing.
func (p *plan) compare(r *report.Run, j *job, plays int) (*unlike, error) {
	from := p.mixed(j)
	u := &unlike{Job: j.name, From: from}
	now, err := p.follow(j, u)
	if err != nil {
		return nil, err
	}
	s := &search{p, j, now, map[mixture]float64{}, plays}
	if u.Seconds, err = s.play(from); err != nil {
		return nil, err
	}
	shared := from
	shared.Splits, shared.Partitions = twice, twice
	if u.SharesOnly, err = s.play(shared); err != nil {
		return nil, err
	}
	for i, x := range []mixture{u.Chosen, shared, p.working(shared)} {
		s.left = min(s.left, plays*(3-i)/3) // each start has its part of the plays
		keep := plays * (2 - i) / 3
		s.left -= keep
		if err := s.climb(x); err != nil {
			return nil, err
		}
		s.left += keep
	}
	u.Plays = len(s.played)
	for x, seconds := range s.played {
		if c := cmp.Compare(seconds, u.BestTime); u.BestTime == 0 || c < 0 || c == 0 && x.String() < u.Best.String() {
			u.Best, u.BestTime = x, seconds
		}
	}
	u.Shorter, u.OfBest = 1-u.After/u.Seconds, u.BestTime/u.After
	r.Say("%s, machines of two kinds: %v %.3f s an epoch, by shares alone %.3f s; it chooses %v, %.3f s, %.1f %% shorter; best of %d plays %v, %.3f s, which the choice reaches by %.3f",
		j.name, from, u.Seconds, u.SharesOnly, u.Chosen, u.After, 100*u.Shorter, u.Plays, u.Best, u.BestTime, u.OfBest)
	return u, nil
}

// working returns a mixture in which all faster machines work.
func (p *plan) working(x mixture) mixture {
	x.Fast = counts{Workers: x.Fast.Workers + x.Fast.Servers}
	return x
}

// mixtureOf returns the numbers of nodes of either kind in a shape, and what the faster ones have on average.
func (p *plan) mixtureOf(s *shape.Shape) mixture {
	var slow, fast shape.Shape
	for _, n := range s.Nodes {
		of := &slow
		if int(n.ID) > p.slower() {
			of = &fast
		}
		of.Nodes = append(of.Nodes, n)
	}
	slow.Splits, slow.Partitions = s.Splits, s.Partitions
	fast.Splits, fast.Partitions = s.Splits, s.Partitions
	x := mixture{Slow: countsOf(&slow), Fast: countsOf(&fast), Splits: even, Partitions: even}
	splits, partitions := 0, 0 // of the faster ones
	for _, n := range s.Splits {
		if _, found := fast.Node(n); found {
			splits++
		}
	}
	for _, at := range s.Partitions {
		if _, found := fast.Node(at.Node); found {
			partitions++
		}
	}
	x.Splits = times(splits, len(s.Splits)-splits, x.Fast.Workers, x.Slow.Workers)
	x.Partitions = times(partitions, len(s.Partitions)-partitions, x.Fast.Servers, x.Slow.Servers)
	return x
}

// times returns how many times, in tenths, the parts of the first nodes are those of the others.
func times(parts, others, nodes, rest int) int {
	if nodes == 0 || rest == 0 || others == 0 {
		return even
	}
	return max(1, (parts*rest*even+others*nodes/2)/(others*nodes))
}
