package coord

import (
	"cmp"
	"slices"

	"bellows"
	"bellows/link/wire"
)

// Out is a task that was dispatched and whose flush has no number.
type Out struct {
	wire.Task
	Commit bellows.CommitNumber // that it sees
}

// out is the tasks of one split that are out, in the order of their dispatch: what another controller would have to dispatch again. What is
// behind the list is memory of arguments that were there.
type out []Out

// add takes note of a task, copying its arguments.
func (o *out) add(u bellows.Unit, commit bellows.CommitNumber, args []float64) {
	n := len(*o)
	if n < cap(*o) {
		*o = (*o)[:n+1]
	} else {
		*o = append(*o, Out{})
	}
	t := &(*o)[n]
	t.Unit, t.Commit, t.Args = u, commit, append(t.Args[:0], args...)
}

// drop forgets a task whose flush has its number, and reports whether it was out. As a rule it is the first.
func (o *out) drop(u bellows.Unit) bool {
	list := *o
	for i := range list {
		if list[i].Unit == u {
			args := list[i].Args
			copy(list[i:], list[i+1:])
			list[len(list)-1] = Out{Task: wire.Task{Args: args}}
			*o = list[:len(list)-1]
			return true
		}
	}
	return false
}

// outstanding is every task that is out: those of a split in the order of their dispatch, and all in that of the commits that they see.
func (c *Controller) outstanding() (list []Out) {
	for s := range c.out {
		for _, t := range c.out[s] {
			t.Args = slices.Clone(t.Args)
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b Out) int { return cmp.Compare(a.Commit, b.Commit) })
	return list
}
