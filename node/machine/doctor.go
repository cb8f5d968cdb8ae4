// Package machine describes the machine and the build of the running program, for the commands doctor, bench and
// version.
//
// Examine says what is good for training on the machine, what could be better, and what is in the way. Its caller
// names the folders that must be writable, and shows the findings. Each problem comes with its remedy. Kernels and
// Application measure how fast the machine is. Each takes the best of some samples, which are taken in turns, so that
// a slow moment of the machine hits all alike. CurrentBuild returns the version of the program.
//
// The package refuses to change anything; to see whether a folder is writable it makes a file there and removes it. It
// does not judge measurements: a figure holds for one machine and one moment.
package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"bellows/figures"
	"bellows/node/cgroup"
	"bellows/vec"

	"github.com/klauspost/cpuid/v2"
)

// Check is what was looked at.
type Check struct {
	Name   string `json:"name"`
	Status string `json:"status"` // "ok", "warn", "fail"
	Found  string `json:"found"`
	ToDo   string `json:"todo"` // "": nothing to do
}

func good(name, format string, args ...any) Check {
	return Check{Name: name, Status: "ok", Found: fmt.Sprintf(format, args...)}
}

// but makes a check worse and says what to do.
func (k Check) but(status, todo string) Check {
	k.Status, k.ToDo = status, todo
	return k
}

// least makes a check worse where there is less than that of something: a failure below none, a warning below low.
func (k Check) least(have, none, low uint64, ifNone, ifLow string) Check {
	switch {
	case have < none:
		return k.but("fail", ifNone)
	case have < low:
		return k.but("warn", ifLow)
	}
	return k
}

// Findings is all checks, and how many of them failed or warn.
type Findings struct {
	Checks []Check `json:"checks"`
	Fails  int     `json:"fails"`
	Warns  int     `json:"warns"`
}

// machine is what the checks look at, so that tests can put another in its place.
type machine struct {
	root      func(path string) (string, error) // the content of a file, by its absolute path
	cpus      int
	procs     int // GOMAXPROCS
	files     func() (soft, hard uint64, err error)
	freeBytes func(dir string) (uint64, error)
	folders   []Folder
}

// Folder is one that should be writable, and what to do if it is not.
type Folder struct {
	Name, Dir, ToDo string
	Spare           bool // it can be done without: what is wrong with it is a warning
}

// but makes a check of the folder worse.
func (f Folder) but(k Check, status string) Check {
	if f.Spare {
		status = "warn"
	}
	return k.but(status, f.ToDo)
}

// Examine returns the report on this machine.
func Examine(folders ...Folder) Findings { return examine(host(folders)) }

func host(folders []Folder) machine {
	return machine{
		root: func(path string) (string, error) {
			text, err := os.ReadFile(path)
			return strings.TrimSpace(string(text)), err
		},
		cpus: runtime.NumCPU(), procs: runtime.GOMAXPROCS(0),
		files: openFileLimits, freeBytes: freeBytes,
		folders: folders,
	}
}

func examine(m machine) Findings {
	limits := cgroup.Read(m.root)
	r := Findings{Checks: []Check{
		m.cpu(), kernelCheck(), m.slots(limits), m.memory(limits), m.openFiles(), m.checkClock(),
	}}
	for _, f := range m.folders {
		r.Checks = append(r.Checks, m.folder(f))
	}
	for _, k := range r.Checks {
		switch k.Status {
		case "fail":
			r.Fails++
		case "warn":
			r.Warns++
		}
	}
	return r
}

// features are the CPU features that kernels use.
var features = []cpuid.FeatureID{cpuid.AVX2, cpuid.FMA3, cpuid.F16C, cpuid.AVX512F, cpuid.AVX512VL, cpuid.ASIMD}

func (m machine) cpu() Check {
	name := cpuid.CPU.BrandName
	if name == "" {
		name = runtime.GOARCH
	}
	var has []string
	for _, f := range features {
		if cpuid.CPU.Supports(f) {
			has = append(has, f.String())
		}
	}
	return good("cpu", "%s, %s: %s", name, figures.Plural(m.cpus, "CPU"), strings.Join(has, " "))
}

func kernelCheck() Check {
	sets := vec.Sets()
	k := good("kernels", "%s (this CPU runs %s)", vec.Kernels(), strings.Join(sets, ", "))
	switch {
	case vec.Kernels() != sets[0]:
		return k.but("warn", "leave out --kernels for the fastest set")
	case sets[0] == "go" && runtime.GOARCH == "amd64":
		return k.but("warn", "kernels in plain Go are several times slower; AVX2 and FMA are not there, or a virtual machine hides them")
	}
	return k
}

// slots compares the threads that Go uses with what the control group grants.
func (m machine) slots(limits cgroup.Limits) Check {
	quota := "no limit by a control group"
	if limits.CPUs > 0 {
		quota = fmt.Sprintf("%.2g CPUs granted by control group %s", limits.CPUs, limits.Version)
	}
	k := good("compute slots", "%d, %s", m.procs, quota)
	if limits.CPUs > 0 && float64(m.procs) > limits.CPUs+1 {
		return k.but("warn", fmt.Sprintf("threads beyond the grant are stopped in turns; use --workers %d", max(1, int(limits.CPUs))))
	}
	return k
}

const (
	memoryLow  = 1 << 30
	memoryNone = 128 << 20
	diskLow    = 1 << 30
	diskNone   = 64 << 20
	filesLow   = 1024
	filesNone  = 64
)

func (m machine) memory(limits cgroup.Limits) Check {
	total, available := m.memInfo()
	if total == 0 && limits.Memory == 0 {
		return good("memory", "unknown on %s", runtime.GOOS)
	}
	k := good("memory", "%s available of %s, no limit by a control group", figures.Bytes(available), figures.Bytes(total))
	if limits.Memory > 0 {
		k.Found = fmt.Sprintf("%s available of %s, %s granted by control group %s",
			figures.Bytes(available), figures.Bytes(total), figures.Bytes(limits.Memory), limits.Version)
		left := limits.Memory - min(limits.Memory, limits.Used)
		available = min(available, left)
	}
	return k.least(available, memoryNone, memoryLow, "free some memory: training needs the data and the model in it",
		"large files may not fit; close other programs or raise the limit")
}

func (m machine) openFiles() Check {
	soft, hard, err := m.files()
	if err != nil {
		return good("open files", "unknown").but("warn", "the limit cannot be read: "+err.Error())
	}
	return good("open files", "%d, at most %d", soft, hard).least(soft, filesNone, filesLow, "raise the limit: ulimit -n 4096",
		"globs of many files may fail; raise the limit: ulimit -n 4096")
}

// checkClock checks that reading the time does not enter the kernel, which every task does twice.
func (m machine) checkClock() Check {
	source, err := m.root("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err != nil {
		return good("clock", "the source is not stated on %s", runtime.GOOS)
	}
	k := good("clock", "source %s", source)
	switch source {
	case "tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen":
		return k
	}
	return k.but("warn", "reading this clock is slow; select tsc or the clock of the hypervisor if the kernel offers it")
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// folder checks that files can be created in it or, if it does not exist yet, next to it.
func (m machine) folder(f Folder) Check {
	if f.Dir == "" {
		return f.but(good(f.Name, "there is none"), "fail")
	}
	dir := f.Dir
	for up := filepath.Dir(dir); up != dir && !isFolder(dir); up = filepath.Dir(dir) {
		dir = up
	}
	probe, err := os.CreateTemp(dir, ".bellows-doctor-*")
	if err != nil {
		return f.but(good(f.Name, "%s cannot be written: %v", f.Dir, err), "fail")
	}
	probe.Close()
	os.Remove(probe.Name())
	free, err := m.freeBytes(dir)
	if err != nil {
		return good(f.Name, "%s is writable, free space unknown", f.Dir)
	}
	k := good(f.Name, "%s is writable, %s free", f.Dir, figures.Bytes(free))
	if free < diskNone {
		return f.but(k, "fail")
	}
	return k.least(free, 0, diskLow, "", "large inputs or models may not fit")
}
