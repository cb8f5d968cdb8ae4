package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// busily is the argument of a process that keeps a processor busy.
const busily = "--busily"

// spin computes until the process is killed, or whoever started it has gone.
func spin() {
	runtime.GOMAXPROCS(2)
	go func() {
		for x := uint64(1); ; x = x*6364136223846793005 + 1 {
			if x == 0 {
				os.Exit(1)
			}
		}
	}()
	var none [1]byte
	os.Stdin.Read(none[:]) // which ends with the parent
	os.Exit(0)
}

// keepBusy starts so many processes that compute. end ends them.
func keepBusy(count int) (end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var ends []func() error
	end = func() (err error) {
		for _, e := range ends {
			err = errors.Join(err, e())
		}
		return err
	}
	for range count {
		cmd := exec.Command(self, busily)
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			return nil, errors.Join(err, end())
		}
		ends = append(ends, func() error { return errors.Join(in.Close(), cmd.Wait()) })
	}
	return end, nil
}
