// Package cgroup reads the CPUs and memory that the control group of this process grants it.
//
// The caller gives a function that reads files, so that tests can show another machine. Without control groups, or
// limits, the answer is zero; there are no errors.
package cgroup

import (
	"math"
	"path"
	"strconv"
	"strings"
)

// Limits is what a control group grants this process. Zero means no limit.
type Limits struct {
	Version string // "v1" or "v2"
	CPUs    float64
	Memory  uint64 // bytes
	Used    uint64 // bytes
	Cached  uint64 // of Used: bytes of files that are kept for later and given back when memory is short
}

// root gives the content of a file, by its absolute path.
type root func(path string) (string, error)

// Read finds the tightest limit on the way from the process's group to the root, for both versions of
// control groups. file gives the content of a file by its absolute path.
func Read(file func(path string) (string, error)) Limits {
	m := root(file)
	text, err := m("/proc/self/cgroup")
	if err != nil {
		return Limits{}
	}
	l := Limits{}
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
func (m root) climb(mount, group string, visit func(dir string)) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		visit(path.Join(mount, group))
		if group == "/" {
			return
		}
	}
}

func (m root) limitsV2(dir string, l *Limits) {
	if text, err := m(path.Join(dir, "cpu.max")); err == nil {
		if f := strings.Fields(text); len(f) == 2 {
			l.grantCPU("v2", number(f[0]), number(f[1]))
		}
	}
	if text, err := m(path.Join(dir, "memory.max")); err == nil {
		used, _ := m(path.Join(dir, "memory.current"))
		l.grantMemory("v2", number(text), number(used), m.stated(dir, "inactive_file"))
	}
}

func (m root) limitsV1(dir, controller string, l *Limits) {
	read := func(file string) float64 {
		text, err := m(path.Join(dir, file))
		if err != nil {
			return -1
		}
		return number(text)
	}
	switch controller {
	case "cpu":
		l.grantCPU("v1", read("cpu.cfs_quota_us"), read("cpu.cfs_period_us"))
	case "memory":
		l.grantMemory("v1", read("memory.limit_in_bytes"), read("memory.usage_in_bytes"), m.stated(dir, "total_inactive_file"))
	}
}

// stated returns what memory.stat of a group says of a name, -1 if nothing.
func (m root) stated(dir, name string) float64 {
	text, err := m(path.Join(dir, "memory.stat"))
	if err != nil {
		return -1
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			return number(f[1])
		}
	}
	return -1
}

// number returns the value of a limit, -1 for "max" and everything that is no number.
func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return -1
	}
	return v
}

func (l *Limits) grantCPU(version string, quota, period float64) {
	if quota <= 0 || period <= 0 {
		return
	}
	if cpus := quota / period; l.CPUs == 0 || cpus < l.CPUs {
		l.CPUs, l.Version = cpus, version
	}
}

// unlimitedV1 is about what version 1 states for "no limit": the largest multiple of the page size.
const unlimitedV1 = math.MaxInt64 / 2

func (l *Limits) grantMemory(version string, limit, used, cached float64) {
	if limit <= 0 || limit > unlimitedV1 {
		return
	}
	if bytes := uint64(limit); l.Memory == 0 || bytes < l.Memory {
		l.Memory, l.Used, l.Cached, l.Version = bytes, uint64(max(0, used)), uint64(max(0, cached)), version
	}
}
