package train

import "bellows"

// Turns runs the tasks of a runner where goroutines on slots do not: in virtual time, where one
// task at a time may touch its client and what it computes takes as long as somebody says.
//
// Begin names a task that may begin, by its Run, Wake one that may go on after Wait. A task that
// runs calls the others, on the goroutine of Run: Enter before it asks something of its client,
// Leave when it has been answered, Wait in between for as long as there is no answer. What it does
// between Leave and the next Enter touches nothing that others can see. A task of a job that has
// ended leaves by returning from Run.
type Turns interface {
	Begin(t *Task)
	Wake(t *Task)
	Enter(t *Task, ask Ask) // returns when the task may ask
	Leave(t *Task)
	Wait(t *Task) // returns when Wake has named the task and it may ask again
}

// Ask is what a task is about to ask of its client.
type Ask struct {
	Kind  AskKind
	Table Table
	First bellows.RowID // the lowest row
}

// AskKind is a kind of question.
type AskKind uint8

// The kinds of questions.
const (
	AskRead     AskKind = iota // rows; it may wait for them
	AskPrefetch                // rows, without waiting
	AskLease                   // a partition; it may wait for it
	AskEnd                     // nothing more: the task hands in its result
)

// GiveTurns makes the runner leave its tasks to turns. It is called before the first task.
func (r *Runner) GiveTurns(turns Turns) { r.turns = turns }

// Run runs a task that Begin has named to its end. It is for Turns alone.
func (t *Task) Run() { t.runner.run(t) }

// begin lets a task begin.
func (r *Runner) begin(t *Task) {
	if r.turns != nil {
		r.turns.Begin(t)
		return
	}
	r.pool.begin(t)
}

// wake lets a task that waits go on.
func (r *Runner) wake(t *Task) {
	if r.turns != nil {
		r.turns.Wake(t)
		return
	}
	r.pool.wake(t)
}

// enter waits for the task's turn to ask, where there are turns.
func (t *Task) enter(ask Ask) {
	if turns := t.runner.turns; turns != nil {
		turns.Enter(t, ask)
	}
}

// leave ends the task's turn.
func (t *Task) leave() {
	if turns := t.runner.turns; turns != nil {
		turns.Leave(t)
	}
}
