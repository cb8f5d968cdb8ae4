package linear

import (
	"math"

	"bellows"
	"bellows/app"
	"bellows/app/examples"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

// First-order steps. In a clock every split pulls the weights that its rows use, and pushes its part of the mean gradient of the clock's rows; the rule
// of the table makes the step on the server, and takes what the weights cost by proximal steps there (core/rule). Beside each weight the table has what is due: for
// how many clocks the weight has paid. A clock charges all weights where blocks work on whole tables; else each when it is used, for all clocks since it was used
// before, so that rare features pay as often as common ones.
//
// What counts is the objective of all training rows after each epoch: the best epoch is kept, and the pace, by which gradients and charges are multiplied, is
// cut when an epoch gains little.

// charged is the values of a row of the table: the weight, and what is due.
const charged = 2

// The arguments of a task of first-order steps, beside argL2 and argL1.
const (
	argPace   = argCount + iota // multiplies gradients and charges
	argCharge                   // multiplies charges alone: l2 and l1 as parts of those of the rule
	argSteps
)

// The results of a training task.
const (
	seenLoss  = iota // of rows before they were learned from
	seenRight        // likewise: on the right side, or squared errors
	seenAll
)

// steps runs the tasks of one split. All that it holds is scratch.
type steps struct {
	p                    *problem
	table, weights, push []float32
}

// rules are the table rules of the solvers that step, by the names of solvers.
var rules = map[string]func(p *problem) table.Rule{
	solverSGD: func(p *problem) table.Rule { return table.Rule{Step: float32(p.stepAt())} },
	solverAdaGrad: func(p *problem) table.Rule {
		return table.Rule{Step: float32(adagradReach * p.reach()), Epsilon: 1e-6}
	},
	solverAdam: func(p *problem) table.Rule {
		return table.Rule{Step: float32(adamReach * p.reach()), Epsilon: 1e-8, Beta1: 0.9, Beta2: 0.999}
	},
	solverFTRL: func(p *problem) table.Rule {
		return table.Rule{Step: float32(adagradReach * p.reach()), Epsilon: ftrlBeta}
	},
}

// reach returns the setting lr, times how large weights have to be for rows of the mean length: as large as targets
// are, which are 1 or about 1 unless they are numbers that nothing has scaled.
func (p *problem) reach() float64 {
	size := 1.0
	if !p.classes && p.Scaling == examples.ScaleNone {
		sum := 0.0
		for _, r := range p.Rows {
			sum += p.Weight.Weight(int(r)) * float64(p.target[r]) * float64(p.target[r])
		}
		size = max(math.Sqrt(sum/float64(len(p.Rows))), math.SmallestNonzeroFloat32)
	}
	return p.lr * size / math.Sqrt(p.Scale.Length())
}

// The first steps of adagrad and ftrl, which are of one size in every weight, and those of adam, which do not shrink, for rows of the mean length; and what
// keeps ftrl's from being longer than its gradients say.
const (
	adagradReach = 0.5
	adamReach    = 0.05
	ftrlBeta     = 0.01
)

// stepTable returns the schema of the weights, which the solver's rule steps.
func (p *problem) stepTable() table.Schema {
	rule := rules[p.steps](p)
	rule.Name, rule.L1, rule.L2 = p.steps, float32(p.l1), float32(p.strength())
	return table.Schema{Name: "weights", Rows: p.Features + 1, Width: charged, Rule: rule, Consistency: p.Consistency}
}

// stepAt returns the step of sgd: the inverse of the expected smoothness of batches of a clock's rows (Gower et al.
// 2019, "SGD: general analysis and improved rates", prop. 3.8), with mean lengths for largest, times how uneven
// weights are.
func (p *problem) stepAt() float64 {
	batch, length := float64(len(p.Rows))/float64(p.Clocks), p.Scale.Length()
	return p.lr / (p.loss.Bend() * (p.Top + (length*p.Weight.Unevenness(p.Rows)-p.Top)/batch))
}

// use finds out what features are used: whether blocks work on whole tables, and else in which clock of an epoch each is used last.
func (p *problem) use() {
	if p.whole = p.usesWhole(); !p.whole {
		p.LastUse = p.Src.LastUse(p.Splits, p.Visits, p.Visited)
	}
}

// usesWhole reports whether blocks work on whole tables, by those of the first clock.
func (p *problem) usesWhole() bool {
	return p.Src.Whole(p.Splits, func(split int) []int32 { return p.Visited(split, 0) })
}

// charge says of each feature of some splits' blocks how much of what is due in the clock the split charges: all clocks since the feature was used before, which
// reaches back into the epoch before, divided among the splits that use it. It walks over the rows of all splits, whoever has them.
func (p *problem) charge(active []bellows.SplitID) {
	here := make([]bool, p.Splits)
	for _, s := range active {
		here[s] = true
	}
	last, users, seen := append([]int32(nil), p.LastUse...), make([]uint16, p.Features), make([]int32, p.Features)
	var used []int32
	for at := range p.Visits {
		used = used[:0]
		for s := range p.Splits {
			for _, r := range p.Visited(s, at) {
				index, _ := p.Src.Entries(int(r))
				for _, j := range index {
					if own := int32(at*p.Splits + s + 1); seen[j] != own {
						if users[j] == 0 {
							used = append(used, j)
						}
						seen[j] = own
						users[j]++
					}
				}
			}
		}
		now := int32(p.Visits + at + 1)
		for s := range p.Splits {
			if u := &p.blocks[s*p.Visits+at]; here[s] {
				u.due = make([]float32, len(u.rows))
				for k, j := range u.rows[:len(u.rows)-1] {
					u.due[k] = float32(now-last[j]) / float32(users[j])
				}
				u.due[len(u.due)-1] = 1 / float32(p.Splits)
			}
		}
		for _, j := range used {
			last[j], users[j] = now, 0
		}
	}
}

// RunTask implements train.Executor.
func (e *steps) RunTask(t *train.Task) error {
	if at := e.p.Work().Place(t.Clock()); at < e.p.Clocks {
		e.step(t, &e.p.blocks[int(t.Split())*e.p.Visits+at])
	} else {
		e.measure(t)
	}
	return nil
}

// pull returns the weights that a block uses, the bias last, in memory of the executor's.
func (e *steps) pull(t *train.Task, u *block) []float32 {
	var both []float32
	if u.rows == nil {
		both = t.PullRange(weightsTable, 0, bellows.RowID(e.p.Features+1))
	} else {
		both = examples.Reserve(&e.table, charged*len(u.rows))
		t.Pull(weightsTable, u.rows, both)
	}
	weights := examples.Reserve(&e.weights, len(both)/charged)
	for j := range weights {
		weights[j] = both[charged*j]
	}
	return weights
}

// step pushes the split's part of the clock's mean gradient, and what is due.
func (e *steps) step(t *train.Task, u *block) {
	weights, args := e.pull(t, u), t.Args()
	push := examples.Reserve(&e.push, charged*len(weights))
	clear(push)
	rate := args[argPace] * float64(e.p.Clocks) / float64(len(e.p.Rows))
	var seen [seenAll]float64
	gradient := examples.Reserve(&e.table, len(weights)) // of dense rows, beside each other
	clear(gradient)
	last := len(weights) - 1
	for i, y := range u.target {
		score := u.score(weights, i, e.p.bias, plain)
		seen[seenLoss] += u.weight.Weight(i) * e.p.loss.Value(score, float64(y))
		seen[seenRight] += u.count.Weight(i) * e.p.judge(score, float64(y))
		slope := float32(rate * u.weight.Weight(i) * e.p.loss.Slope(score, float64(y)))
		if slope == 0 {
			continue
		}
		push[charged*last] += float32(slope * e.p.bias)
		if u.Offset == nil {
			vec.Axpy(slope, u.row(i, last), gradient[:last])
			continue
		}
		index, value := u.Entries(i)
		for k, j := range index {
			push[charged*j] += float32(slope * value[k])
		}
	}
	charge := float32(args[argPace] * args[argCharge])
	if u.rows != nil {
		for k, due := range u.due {
			push[charged*k+1] = float32(charge * due)
		}
		t.Push(weightsTable, u.rows, push)
		t.SignalTaskCompletion(seen[:]...)
		return
	}
	if u.Offset == nil {
		for j, g := range gradient[:last] {
			push[charged*j] = g
		}
	}
	for j := range weights {
		push[charged*j+1] = charge / float32(e.p.Splits)
	}
	t.PushRange(weightsTable, 0, push)
	t.SignalTaskCompletion(seen[:]...)
}

// measure scores the split's training rows and its part of the test rows.
func (e *steps) measure(t *train.Task) {
	var got [gotAll]float64
	split := int(t.Split())
	for at := range e.p.Visits {
		u := &e.p.blocks[split*e.p.Visits+at]
		weights := e.pull(t, u)
		for i, y := range u.target {
			score := u.score(weights, i, e.p.bias, plain)
			got[gotLoss] += u.weight.Weight(i) * e.p.loss.Value(score, float64(y))
			got[gotRight] += u.count.Weight(i) * e.p.judge(score, float64(y))
		}
	}
	if u := &e.p.scored[split]; len(u.target) > 0 {
		e.p.examine(u, e.pull(t, u), plain, &got)
	}
	lo, hi := app.Share(e.p.Features+1, split, e.p.Splits), app.Share(e.p.Features+1, split+1, e.p.Splits)
	if lo < hi {
		for j, w := range t.PullRange(weightsTable, bellows.RowID(lo), bellows.RowID(hi)) {
			if j%charged == 0 {
				got[gotSquares] += float64(w) * float64(w)
				got[gotSizes] += math.Abs(float64(w))
			}
		}
	}
	t.SignalTaskCompletion(got[:]...)
}

// The rules of the pace: an epoch that lowers the objective by less than this part cuts it, and a run ends when so many epochs have gained next to nothing.
const (
	stepGain     = 0.002
	paceCut      = 0.5
	stepPatience = 5
)

// endSteps judges an epoch by the objective: whether it is the best, and whether steps have become so short that the run has come as close as they get.
func (k *policy) endSteps(objective float64) {
	if objective > (1-stepGain)*k.before {
		k.pace *= paceCut
	}
	k.before = objective
}
