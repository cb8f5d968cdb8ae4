package main

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"time"

	"bellows"
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

// sit takes a seat in another process's job.
func sit(seat string) error {
	return node.Sit(context.Background(), os.Stdin, os.Stdout, func(context.Context, []byte) (train.Job, *train.Image, error) {
		var o jobs.Order
		if err := json.Unmarshal([]byte(seat), &o); err != nil {
			return train.Job{}, nil, err
		}
		if o.Kernels != "" {
			if err := vec.Use(o.Kernels); err != nil {
				return train.Job{}, nil, err
			}
		}
		m, err := o.Make()
		if err != nil {
			return train.Job{}, nil, err
		}
		return o.Mark(m), nil, nil
	})
}

// mark is where a run stood at the end of an epoch.
type mark struct {
	wall    time.Time
	trained time.Duration
	cpu     time.Duration
}

// real runs a job for real: in this process, or in so many others.
func real(o jobs.Order, processes, slots int) (pace, error) {
	m, err := o.Make()
	if err != nil {
		return pace{}, err
	}
	var marks []mark
	opt := node.Options{Slots: slots, OnEpoch: func(_ train.Epoch, so node.Spent) {
		marks = append(marks, mark{time.Now(), so.Trained, pair.CPUTime()})
	}}
	runtime.GC() // what was made before is not this run's to clean up
	var others float64
	if processes == 0 {
		_, err = node.Train(context.Background(), m.Job, opt)
	} else {
		others, err = launch(o, m.Job, processes, slots, opt)
	}
	if err != nil {
		return pace{}, err
	}
	a, b := marks[jobs.Warm-1], marks[len(marks)-1]
	epochs := float64(len(marks) - jobs.Warm)
	return pace{Wall: b.wall.Sub(a.wall).Seconds() / epochs, Trained: (b.trained - a.trained).Seconds() / epochs,
		CPU: ((b.cpu - a.cpu).Seconds() + others) / epochs}, nil
}

// launch runs a job in other processes, and returns the CPU seconds that they used since the epochs that are not measured.
func launch(o jobs.Order, job train.Job, processes, slots int, opt node.Options) (float64, error) {
	var err error
	if o.Marks, err = os.MkdirTemp("", "bellows-lab-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(o.Marks)
	seat, err := json.Marshal(o)
	if err != nil {
		return 0, err
	}
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	l := node.Launch{Program: program, Args: []string{os.Args[0], "--seat", string(seat)}, Members: []node.Member{{}}, Transport: "unix"}
	for i := range processes {
		own := max(1, slots*(i+1)/processes-slots*i/processes)
		l.Members = append(l.Members, node.Member{Node: bellows.NodeID(i + 1), Slots: own, Lanes: own})
	}
	l.Members = node.Place(l.Members, job.Tables)
	if _, err := l.Run(context.Background(), job, opt); err != nil {
		return 0, err
	}
	return jobs.Sum(o.Marks)
}
