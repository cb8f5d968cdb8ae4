package main

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// cacheFolder is where parsed inputs are kept between runs: bellows/ in the user's cache folder,
// or in the temp folder for a user without one.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "bellows")
}

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

// memInfo is the memory of the machine and what of it can be had, in bytes; 0 where it is unknown.
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

// controlLimits is what a control group grants this process. Zero means no limit.
type controlLimits struct {
	version string // "v1" or "v2"
	cpus    float64
	memory  uint64 // bytes
	used    uint64 // bytes
}

// controlGroups reads the tightest limit on the way from the process's group to the root, for both
// versions of control groups.
func (m machine) controlGroups() controlLimits {
	text, err := m.root("/proc/self/cgroup")
	if err != nil {
		return controlLimits{}
	}
	l := controlLimits{}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		controllers := strings.Split(parts[1], ",")
		switch {
		case parts[0] == "0" && parts[1] == "":
			m.climb("/sys/fs/cgroup", parts[2], func(dir string) { m.limitsV2(dir, &l) })
		default:
			for _, name := range controllers {
				m.climb(path.Join("/sys/fs/cgroup", name), parts[2], func(dir string) { m.limitsV1(dir, name, &l) })
			}
		}
	}
	return l
}

// climb visits the group and all groups above it. In a container the path is the host's and may
// not exist, in which case only the mount point answers.
func (m machine) climb(mount, group string, visit func(dir string)) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		visit(path.Join(mount, group))
		if group == "/" {
			return
		}
	}
}

func (m machine) limitsV2(dir string, l *controlLimits) {
	if text, err := m.root(path.Join(dir, "cpu.max")); err == nil {
		if f := strings.Fields(text); len(f) == 2 {
			l.grantCPU("v2", number(f[0]), number(f[1]))
		}
	}
	if text, err := m.root(path.Join(dir, "memory.max")); err == nil {
		used, _ := m.root(path.Join(dir, "memory.current"))
		l.grantMemory("v2", number(text), number(used))
	}
}

func (m machine) limitsV1(dir, controller string, l *controlLimits) {
	read := func(file string) float64 {
		text, err := m.root(path.Join(dir, file))
		if err != nil {
			return -1
		}
		return number(text)
	}
	switch controller {
	case "cpu":
		l.grantCPU("v1", read("cpu.cfs_quota_us"), read("cpu.cfs_period_us"))
	case "memory":
		l.grantMemory("v1", read("memory.limit_in_bytes"), read("memory.usage_in_bytes"))
	}
}

// number is the value of a limit, -1 for "max" and everything else that is none.
func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return -1
	}
	return v
}

func (l *controlLimits) grantCPU(version string, quota, period float64) {
	if quota <= 0 || period <= 0 {
		return
	}
	if cpus := quota / period; l.cpus == 0 || cpus < l.cpus {
		l.cpus, l.version = cpus, version
	}
}

// unlimitedV1 is about what version 1 states for "no limit": the largest multiple of the page size.
const unlimitedV1 = math.MaxInt64 / 2

func (l *controlLimits) grantMemory(version string, limit, used float64) {
	if limit <= 0 || limit > unlimitedV1 {
		return
	}
	if bytes := uint64(limit); l.memory == 0 || bytes < l.memory {
		l.memory, l.used, l.version = bytes, uint64(max(0, used)), version
	}
}
