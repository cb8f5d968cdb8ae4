package machine

import (
	"strconv"
	"strings"
	"syscall"
)

func openFileLimits() (soft, hard uint64, err error) {
	var l syscall.Rlimit
	err = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), uint64(l.Max), err
}

func freeBytes(dir string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return uint64(s.Bavail) * uint64(s.Bsize), nil
}

// memInfo returns the total and the available memory of the machine, in bytes; 0 if unknown.
func (m machine) memInfo() (total, available uint64) {
	text, err := m.root("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, err := strconv.ParseUint(fields[1], 10, 54)
		if err != nil {
			continue
		}
		switch fields[0] {
		case "MemTotal:":
			total = kib << 10
		case "MemAvailable:":
			available = kib << 10
		}
	}
	return total, available
}
