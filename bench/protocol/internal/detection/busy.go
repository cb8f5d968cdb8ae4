package detection

import (
	"errors"
	"os"
	"os/exec"
	"runtime"

	"bellows/bench/internal/pair"
)

// busily is the role of a process that keeps a processor busy.
const busily = "busily"

// spin computes until the process is killed, or its parent has gone.
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
func keepBusy(count int) (end func()) {
	self := pair.Must(os.Executable())
	var ends []func() error
	end = func() {
		for _, e := range ends {
			pair.Check(e())
		}
	}
	for range count {
		cmd := exec.Command(self, pair.RoleArgs(busily)...)
		in := pair.Must(cmd.StdinPipe())
		pair.Check(cmd.Start())
		ends = append(ends, func() error { return errors.Join(in.Close(), cmd.Wait()) })
	}
	return end
}
