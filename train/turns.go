package train

import "bellows"

// Turns runs the tasks of a runner in place of goroutines on slots: in virtual time, where one task at a time may use
// its client and computing takes as long as the simulation decides.
//
// Begin names a task that may begin, by its Run; Wake names one that may continue after Wait. A running task calls the
// others, on the goroutine of Run: Enter before it asks its client, Leave when it has been answered, Wait in between
// for as long as there is no answer. What it does between Leave and the next Enter affects no other task. A task of an
// ended job leaves by returning from Run.
type Turns interface {
	Begin(t *Task)
	Wake(t *Task)
	Enter(t *Task, ask Ask) // returns when the task may ask
	Leave(t *Task)
	Wait(t *Task) // returns when Wake has named the task and it may ask again
}

// An Ask is the question that a task is about to ask its client.
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

// Run runs a task that Begin has named to its end. Only Turns may call it.
func (t *Task) Run() { t.runner.run(t) }

// begin starts a task.
func (r *Runner) begin(t *Task) {
	if r.turns != nil {
		r.turns.Begin(t)
		return
	}
	r.pool.begin(t)
}

// wake continues a waiting task.
func (r *Runner) wake(t *Task) {
	if r.turns != nil {
		r.turns.Wake(t)
		return
	}
	r.pool.wake(t)
}

// enter waits for the task's turn to ask, if there are turns.
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
