package main

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"time"

	"bellows/api"
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

// jobOf returns the job of a process that another has started.
func jobOf(order string) (train.Job, error) {
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
	return m.Job, err
}

// mark is where a run stood at the end of an epoch.
type mark struct {
	wall         time.Time
	trained, cpu time.Duration // cpu is that of all processes
	err          error         // why cpu is not known
}

// markOf returns the current mark.
func markOf(processes []int, so node.Spent) mark {
	m := mark{wall: time.Now(), trained: so.Trained}
	for _, pid := range processes {
		cpu, err := pair.CPUTimeOf(pid)
		m.cpu, m.err = m.cpu+cpu, errors.Join(m.err, err)
	}
	return m
}

// real runs a job for real, in this process or in so many others.
func real(o jobs.Order, processes, slots int) pace {
	m := pair.Must(o.Make())
	var marks []mark
	running := []int{os.Getpid()}
	opt := node.Options{
		OnStart: func(nodes []api.Node) {
			for _, n := range nodes[1:] {
				running = append(running, n.PID)
			}
		},
		OnEpoch: func(_ train.Epoch, so node.Spent) { marks = append(marks, markOf(running, so)) },
	}
	l := cluster.Launch{Processes: processes, Slots: slots, Transport: "unix", Role: "lab", Order: string(pair.Must(json.Marshal(o)))}
	runtime.GC() // what was made before is not this run's to clean up
	l.Run(m.Job, opt)
	a, b := marks[jobs.Warm-1], marks[len(marks)-1]
	pair.Check(errors.Join(a.err, b.err))
	epochs := float64(len(marks) - jobs.Warm)
	return pace{Wall: b.wall.Sub(a.wall).Seconds() / epochs, Trained: (b.trained - a.trained).Seconds() / epochs, CPU: (b.cpu - a.cpu).Seconds() / epochs}
}
