package main

import (
	"encoding/json"
	"os"
	"runtime"
	"time"

	"bellows/bench/internal/cluster"
	"bellows/bench/internal/pair"
	"bellows/bench/lab/internal/jobs"
	"bellows/node"
	"bellows/train"
	"bellows/vec"
)

// pace is what an epoch takes, in seconds.
type pace struct {
	Wall    float64 // in all
	Trained float64 // while tasks that visit items were out
	CPU     float64 // of all processes
}

// seated is the job of a process that another has started.
func seated(order string) (train.Job, error) {
	var o jobs.Order
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		return train.Job{}, err
	}
	if o.Kernels != "" {
		if err := vec.Use(o.Kernels); err != nil {
			return train.Job{}, err
		}
	}
	m, err := o.Make()
	if err != nil {
		return train.Job{}, err
	}
	return o.Mark(m), nil
}

// mark is where a run stood at the end of an epoch.
type mark struct {
	wall    time.Time
	trained time.Duration
	cpu     time.Duration
}

// real runs a job for real: in this process, or in so many others, which leave the CPU time that they used since the epochs that
// are not measured.
func real(o jobs.Order, processes, slots int) pace {
	m := pair.Must(o.Make())
	var marks []mark
	opt := node.Options{OnEpoch: func(_ train.Epoch, so node.Spent) {
		marks = append(marks, mark{time.Now(), so.Trained, pair.CPUTime()})
	}}
	l := cluster.Launch{Processes: processes, Slots: slots, Transport: "unix"}
	if processes > 0 {
		o.Marks = pair.Must(os.MkdirTemp("", "bellows-lab-"))
		defer os.RemoveAll(o.Marks)
		l.Order = string(pair.Must(json.Marshal(o)))
	}
	runtime.GC() // what was made before is not this run's to clean up
	pair.Check(l.Run(m.Job, opt))
	a, b := marks[jobs.Warm-1], marks[len(marks)-1]
	cpu := (b.cpu - a.cpu).Seconds()
	if processes > 0 {
		cpu += jobs.Sum(o.Marks)
	}
	epochs := float64(len(marks) - jobs.Warm)
	return pace{Wall: b.wall.Sub(a.wall).Seconds() / epochs, Trained: (b.trained - a.trained).Seconds() / epochs, CPU: cpu / epochs}
}
