package lab

import (
	"slices"
	"time"

	"bellows"
	"bellows/link/wire"
	"bellows/policy/reshape"
	"bellows/sim/lab/script"
)

// happenings are the events of the script, and what became of them.
type happenings struct {
	list   []script.Result
	moving []int                 // of list: the moves, splits and roles that are under way
	died   []int                 // deaths that the job has not got over yet
	asked  map[reshape.AskID]int // answers that are to come, by what they are for
	asking int                   // of list: what is being asked for
}

// addScript asks for the events of the script that are to come.
func (w *world) addScript() {
	if w.happen.list == nil {
		for _, e := range w.cfg.Script {
			w.happen.list = append(w.happen.list, script.Result{Event: e})
		}
	}
	for i := range w.happen.list {
		if r := &w.happen.list[i]; r.Kind != script.Slow && r.Began == 0 && r.At >= w.life.start {
			w.agenda.After(int64(r.At-w.life.start), event{what: scriptEvent, stamp: uint32(i)})
		}
	}
	if w.cfg.Cuts.Every > 0 {
		w.agenda.After(int64(w.cfg.Cuts.Every), event{what: cutDue})
	}
}

// happens carries out an event of the script.
func (w *world) happens(i int) {
	r, lead := &w.happen.list[i], w.nodes[0].lead
	if !lead.Begun() {
		w.agenda.After(int64(time.Millisecond), event{what: scriptEvent, stamp: uint32(i)})
		return
	}
	r.Began = w.elapsed()
	var err error
	switch r.Kind {
	case script.Move:
		err = w.movePartition(r.Partition, r.Node, false)
		w.happen.moving = append(w.happen.moving, i)
	case script.Split:
		err = lead.MoveSplit(r.Split, r.Node, &lead.fx)
		w.happen.moving = append(w.happen.moving, i)
	case script.Cut:
		err, w.cuts.began = lead.Cut(&lead.fx), r.Began
		w.cuts.script = append(w.cuts.script, i)
	case script.Die:
		w.happen.died = append(w.happen.died, i)
		w.dies(w.nodes[r.Node])
		return
	case script.Leave:
		w.ask(i, reshape.Ask{Drain: &reshape.Drain{Node: r.Node, NoticeMillis: r.For.Milliseconds()}})
	case script.Switch:
		w.ask(i, reshape.Ask{Switch: &reshape.Switch{Node: r.Node, Role: r.Role}})
	}
	if err != nil {
		w.happened(i, err.Error())
	}
	lead.obey()
	w.nodes[0].settle()
}

// happened notes the end of an event; why is empty if it came about.
func (w *world) happened(i int, why string) {
	r := &w.happen.list[i]
	if r.Err = why; why == "" {
		r.Done = w.elapsed()
	}
	is := func(k int) bool { return k == i }
	w.happen.moving = slices.DeleteFunc(w.happen.moving, is)
	w.cuts.script = slices.DeleteFunc(w.cuts.script, is)
}

// movePartition moves a partition to the first lane of a node.
func (w *world) movePartition(number int, to bellows.NodeID, urgent bool) error {
	lead := w.nodes[0].lead
	at := slices.IndexFunc(w.route.Lanes(), func(a wire.Address) bool { return a.Node == to })
	if at < 0 {
		return bellows.Errorf(bellows.Config, "move partition", "", "node %d has no lane", to)
	}
	return lead.MovePartition(w.partition(number), w.route.Lanes()[at], urgent, &lead.fx)
}

// partition returns a partition by its number.
func (w *world) partition(number int) (ref bellows.PartitionRef) {
	for ref = range w.route.Each() {
		if w.route.Number(ref) == number {
			break
		}
	}
	return ref
}

// followScript notes which moves have come about by the current route.
func (w *world) followScript() {
	for _, i := range slices.Clone(w.happen.moving) {
		r := &w.happen.list[i]
		if r.Kind == script.Split && w.route.Node(r.Split) == r.Node || r.Kind == script.Move && w.route.Owner(w.partition(r.Partition)).Lane.Node == r.Node {
			w.happened(i, "")
		}
	}
}

// givenUp notes that the owner of a partition has given up its move.
func (w *world) givenUp(partition int, why string) {
	if w.shape != nil {
		w.shape.Refused(partition, why)
	}
	for _, i := range slices.Clone(w.happen.moving) {
		if r := &w.happen.list[i]; r.Kind == script.Move && r.Partition == partition {
			w.happened(i, why)
		}
	}
}
