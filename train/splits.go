package train

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"bellows"
)

// splits holds the executors of the splits that are active on a node, which arrive and leave while the job runs.
//
// A split that is active from the start has its executor before the first task. A split that arrives gets it from its
// first task, on that task's goroutine: preparing may take long, and neither the goroutine that brings messages nor
// other tasks wait for it. A split that leaves is released by a separate goroutine, because an executor may take time
// to close. If the split returns meanwhile, its next task waits for that (TestASplitComesAndGoes).
//
// Lock: making is held while the application prepares, makes an executor or releases, which happens one at a time; it
// guards err. The lists are guarded by the runner's lock, except the entry of a split that runs a task, which belongs
// to that task: a split leaves only when it runs none.
type splits struct {
	job       *Job
	executors []Executor      // by split; nil: it is not here, or has run nothing yet
	gone      []chan struct{} // by split: closed when it has been released; nil: it never left

	making  sync.Mutex
	err     error          // of executors that failed to close
	leaving sync.WaitGroup // splits being released
}

func newSplits(job *Job) splits {
	return splits{job: job, executors: make([]Executor, job.Splits), gone: make([]chan struct{}, job.Splits)}
}

// begin makes the executors of the first splits.
func (s *splits) begin(active []bellows.SplitID) error {
	if err := s.prepare(active); err != nil {
		return err
	}
	for _, split := range active {
		e, err := s.make(split)
		if err != nil {
			return err
		}
		s.executors[split] = e
	}
	return nil
}

// make makes the executor of a split. It refuses an executor that saves state which nothing stores, because such a
// split would start anew after every move.
func (s *splits) make(split bellows.SplitID) (Executor, error) {
	e, err := s.job.NewExecutor(split)
	if err != nil {
		return nil, err
	}
	if _, saves := e.(Stateful); saves && s.job.Stays == "" {
		return nil, bellows.Errorf(bellows.Bug, "make the executor", fmt.Sprintf("of split %d", split),
			"a %T has Save and Restore, which nobody calls: give the job to SaveExecutors", e)
	}
	return e, nil
}

func (s *splits) prepare(active []bellows.SplitID) error {
	if s.job.Prepare == nil {
		return nil
	}
	return s.job.Prepare(active)
}

// executor returns the executor of a split for its running task.
func (s *splits) executor(split bellows.SplitID) (Executor, error) {
	if e := s.executors[split]; e != nil {
		return e, nil
	}
	if gone := s.gone[split]; gone != nil {
		<-gone
	}
	s.making.Lock()
	defer s.making.Unlock()
	if err := s.prepare([]bellows.SplitID{split}); err != nil {
		return nil, err
	}
	e, err := s.make(split)
	if err != nil {
		return nil, err
	}
	s.executors[split] = e
	return e, nil
}

// leave releases a split that now belongs to another node. The caller holds the runner's lock.
func (s *splits) leave(split bellows.SplitID) {
	e := s.executors[split]
	if e == nil {
		return // it has run nothing here
	}
	gone := make(chan struct{})
	s.executors[split], s.gone[split] = nil, gone
	s.leaving.Add(1)
	go s.letGo(split, e, gone)
}

// letGo closes the executor of a split, and frees what was prepared for it.
func (s *splits) letGo(split bellows.SplitID, e Executor, gone chan struct{}) {
	defer s.leaving.Done()
	defer close(gone)
	err := closeExecutor(e)
	s.making.Lock()
	defer s.making.Unlock()
	s.err = errors.Join(s.err, err)
	if s.job.Release != nil {
		s.job.Release(split)
	}
}

// close closes all executors, and lets go of them with their memory. No task may be running.
func (s *splits) close() error {
	s.leaving.Wait()
	err := s.err
	for _, e := range s.executors {
		err = errors.Join(err, closeExecutor(e))
	}
	clear(s.executors)
	return err
}

func closeExecutor(e Executor) error {
	if c, ok := e.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
