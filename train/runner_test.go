package train

import (
	"slices"
	"sync"
	"testing"

	"bellows"
	"bellows/core"
	"bellows/core/client"
	"bellows/core/coord"
	"bellows/core/route"
	"bellows/core/server"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var (
	atLeader = wire.Address{Role: wire.Controller}
	atLane   = wire.Address{Role: wire.Lane}
	atClient = wire.Address{Role: wire.Client}
)

// stage is a job in this process: a runner with its client, a lane and a controller. The goroutine that drains steps
// them, one at a time. It checks that the runner keeps the contract of Bus.
type stage struct {
	t          *testing.T
	runner     *Runner
	lane       *server.Lane
	controller *coord.Controller
	stepping   sync.Mutex // guards lane, controller and what they say
	out        wire.Outbox
	fx         coord.Effects
	outcome    *coord.Outcome

	mu      sync.Mutex // guards what is below
	queue   []wire.Envelope
	holds   func(m wire.Message) bool // what is kept back; nil: nothing
	held    []wire.Envelope
	passed  []wire.Message // the runner's, in order
	notices []string
	left    int // calls of Leave
}

// newStage makes a job of one node ready to start. Driver and Items have defaults: each split runs one clock of one
// item.
func newStage(t *testing.T, job Job, slots int) *stage {
	t.Helper()
	if job.Driver == nil {
		job.Driver = &Clocks{Splits: job.Splits, Count: 1}
	}
	if job.Items == nil {
		job.Items = func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{End: 1} }
	}
	if job.Tables == nil {
		job.Tables = []table.Schema{{Name: "rows", Rows: 4, Width: 1}}
	}
	for i := range job.Tables {
		require.NoError(t, job.Tables[i].Validate())
	}
	s := &stage{t: t}
	way := route.Spread(job.Tables, job.Splits, []wire.Address{atLane}, []bellows.NodeID{0})
	lane, err := server.NewLane(core.Job{Controller: atLeader, Clients: []wire.Address{atClient}, Tables: job.Tables,
		Route: way, Items: job.Items}, atLane, server.Options{})
	require.NoError(t, err)
	s.lane = lane
	s.controller = coord.New(core.Job{Controller: atLeader, Lanes: []wire.Address{atLane},
		Clients: []wire.Address{atClient}, Route: way, Items: job.Items}, coord.Options{Driver: job.Driver})
	c := client.New(core.Job{Controller: atLeader, Tables: job.Tables, Route: way}, atClient, client.Options{})
	var active []bellows.SplitID
	for i := range bellows.SplitID(job.Splits) {
		active = append(active, i)
	}
	if s.runner, err = NewRunner(c, &job, active, slots, s, s.notice); err != nil {
		t.Fatal(err)
	}
	s.runner.Share() // the clock of these tests stands still while a goroutine looks for work
	return s
}

func (s *stage) notice(sentence string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, sentence)
}

// Enqueue implements Bus.
func (s *stage) Enqueue(out *wire.Outbox) {
	if s.runner.mu.TryLock() {
		s.t.Error("messages are enqueued without the lock that orders the client's steps")
		s.runner.mu.Unlock()
	}
	for _, e := range out.Envelopes {
		if _, last := e.Message.(*wire.Closed); !last {
			continue
		}
		select {
		case <-s.runner.Ended():
		default:
			s.t.Error("the last word leaves before the runner says that the job has ended")
		}
	}
	s.mu.Lock()
	for _, e := range out.Envelopes {
		s.passed = append(s.passed, e.Message)
	}
	s.mu.Unlock()
	s.post(out)
}

// post queues messages.
func (s *stage) post(out *wire.Outbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, out.Envelopes...)
	clear(out.Envelopes)
	out.Envelopes = out.Envelopes[:0]
}

// next returns the first message that is not kept back.
func (s *stage) next() (wire.Envelope, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) > 0 {
		e := s.queue[0]
		s.queue = s.queue[1:]
		if s.holds == nil || !s.holds(e.Message) {
			return e, true
		}
		s.held = append(s.held, e)
	}
	return wire.Envelope{}, false
}

// Drain implements Bus.
func (s *stage) Drain() {
	s.stepping.Lock()
	defer s.stepping.Unlock()
	for e, ok := s.next(); ok; e, ok = s.next() {
		batch := []wire.Envelope{e}
		switch e.To {
		case atLane:
			s.lane.Step(batch, &s.out)
			s.post(&s.out)
		case atClient:
			s.runner.Step(batch)
		case atLeader:
			s.controller.Step(batch, &s.fx)
			s.obey()
		}
	}
}

// Leave implements Bus.
func (s *stage) Leave() {
	s.mu.Lock()
	s.left++
	s.mu.Unlock()
	go s.Drain()
}

func (s *stage) obey() {
	if s.fx.Outcome != nil {
		s.outcome = s.fx.Outcome
	}
	s.post(&s.fx.Outbox)
	s.fx.Reset()
}

// hold keeps messages back from now on, and lets those go that were kept back and are not any more.
func (s *stage) hold(holds func(m wire.Message) bool) {
	s.mu.Lock()
	s.holds = holds
	s.queue = slices.Concat(s.held, s.queue)
	s.held = nil
	s.mu.Unlock()
	s.Drain()
}

// start lets the controller dispatch the first tasks.
func (s *stage) start() {
	s.stepping.Lock()
	s.controller.Start(&s.fx)
	s.obey()
	s.stepping.Unlock()
	s.Drain()
}

// end waits for the job's end and returns how it ended.
func (s *stage) end() *coord.Outcome {
	s.t.Helper()
	if err := s.runner.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	s.Drain()
	s.stepping.Lock()
	defer s.stepping.Unlock()
	if s.outcome == nil {
		s.t.Fatal("the runner has closed and the job is not over")
	}
	return s.outcome
}

// finish runs a job to its end, which must be a good one.
func (s *stage) finish() {
	s.t.Helper()
	s.start()
	if o := s.end(); o.Reason != "" {
		s.t.Errorf("the job ends: %s", o.Reason)
	}
}

// task is an executor that is a function.
type task func(t *Task) error

func (f task) RunTask(t *Task) error { return f(t) }

// executors makes one function the executor of every split.
func executors(f func(t *Task) error) func(bellows.SplitID) (Executor, error) {
	return func(bellows.SplitID) (Executor, error) { return task(f), nil }
}

// isRows returns a lane's answer to a read.
func isRows(m wire.Message) bool { _, rows := m.(*wire.Rows); return rows }
