package measure

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// tasks is the folder with the threads of this process.
const tasks = "/proc/self/task"

// Delayed returns how long threads of this process were ready to run and had no processor, those that have ended left
// out; 0 if the operating system does not say. Time in which a control group has used up its quota is part of it.
func Delayed() (sum time.Duration) {
	folder, err := os.Open(tasks)
	if err != nil {
		return 0
	}
	names, err := folder.Readdirnames(-1)
	if failed := folder.Close(); err != nil || failed != nil {
		return 0
	}
	for _, name := range names {
		sum += delayedOf(contents(tasks + "/" + name + "/schedstat"))
	}
	return sum
}

// lineMost is the longest schedstat file.
const lineMost = 80

// contents returns those of a short file; none if it is gone. Package os would first try to wait for it in the poller,
// at twice the cost.
func contents(path string) []byte {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	text := make([]byte, lineMost)
	n, err := syscall.Read(fd, text)
	if failed := syscall.Close(fd); err != nil || failed != nil {
		return nil
	}
	return text[:max(0, n)]
}

// delayedOf returns the second number of a schedstat file, in nanoseconds. The first is the time on a processor.
func delayedOf(text []byte) time.Duration {
	words := bytes.Fields(text)
	if len(words) != 3 {
		return 0
	}
	n, err := strconv.ParseInt(string(words[1]), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(n)
}
