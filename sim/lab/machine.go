package lab

import (
	"slices"

	"bellows/sim/lab/cores"
	"bellows/sim/lab/pattern"
	"bellows/sim/lab/script"
)

// machine is a computer in virtual time: jobs that share its cores.
type machine struct {
	*cores.Machine[owner]
	index int
}

// owner is the owner of a core's work: a task, or a node that handles messages.
type owner struct {
	node      *node
	coroutine *taskCoroutine // nil: the node handles messages
}

// job is work for one core.
type job = cores.Job[owner]

// addMachine makes a machine of the site.
func (w *world) addMachine(cfg Machine) {
	m := &machine{index: len(w.machines)}
	c := cores.Config[owner]{Count: cfg.Cores, Speed: cfg.Speed, Slice: int64(w.cfg.Site.Slice), Schedule: func(delay int64, stamp uint32) {
		w.agenda.After(delay, event{what: machineTick, machine: m, stamp: stamp})
	}}
	slow := w.cfg.Slow
	if slices.ContainsFunc(w.cfg.Script, func(e script.Event) bool { return e.Kind == script.Slow }) || slow != nil {
		c.Slow = func(o owner) (float64, int64) {
			slower, until := script.Slowness(w.cfg.Script, o.node.id, w.elapsed(), pattern.Always)
			if slow != nil {
				usual, end := slow(w.cfg.Seed, o.node.id, w.elapsed())
				slower, until = slower*usual, min(until, end)
			}
			return slower, int64(until - w.elapsed())
		}
	}
	if load := w.cfg.Load; load != nil {
		c.Load = func() (float64, int64) {
			share, until := load(w.cfg.Seed, m.index, w.elapsed())
			return share, int64(until - w.elapsed())
		}
	}
	m.Machine = cores.New(c)
	w.machines = append(w.machines, m)
}

// begins gives a job a share of its machine's cores.
func (w *world) begins(m *machine, j *job) {
	w.work += j.Rest
	m.Begin(w.agenda.Time(), j)
}

// machineTicks ends the jobs of a machine that are done.
func (w *world) machineTicks(m *machine, stamp uint32) {
	for _, j := range m.Tick(w.agenda.Time(), stamp) {
		o := j.Owner
		o.node.processor += j.Used()
		if o.coroutine != nil {
			o.node.computed(o.coroutine)
		} else {
			o.node.served()
		}
	}
}
