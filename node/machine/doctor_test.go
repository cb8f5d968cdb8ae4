package machine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// fakeMachine answers from the files given and is otherwise in good health.
func fakeMachine(t *testing.T, files map[string]string) machine {
	t.Helper()
	if files == nil {
		files = map[string]string{}
	}
	if _, ok := files["/proc/meminfo"]; !ok {
		files["/proc/meminfo"] = "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n"
	}
	return machine{
		root: func(path string) (string, error) {
			text, ok := files[path]
			if !ok {
				return "", fs.ErrNotExist
			}
			return strings.TrimSpace(text), nil
		},
		cpus: 8, procs: 8,
		files:     func() (uint64, uint64, error) { return 4096, 8192, nil },
		freeBytes: func(string) (uint64, error) { return 100 << 30, nil },
		folders:   []Folder{{Name: "temp folder", Dir: t.TempDir(), ToDo: "set TMPDIR"}},
	}
}

// status returns the status of one check of the machine, and what to do.
func status(m machine, name string) (string, string) {
	for _, k := range examine(m).Checks {
		if k.Name == name {
			return k.Status, k.ToDo
		}
	}
	return "there is no such check", ""
}

func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	clock := "/sys/devices/system/clocksource/clocksource0/current_clocksource"
	group := map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "200000 100000"}
	for name, c := range map[string]struct {
		check, status, todo string
		files               map[string]string
		change              func(*machine)
	}{
		"healthy":       {check: "memory", status: "ok"},
		"few CPUs":      {check: "compute slots", status: "warn", todo: "--workers 2", files: group},
		"little memory": {check: "memory", status: "warn", todo: "large files", files: map[string]string{"/proc/meminfo": "MemTotal: 900000 kB\nMemAvailable: 500000 kB\n"}},
		"no memory":     {check: "memory", status: "fail", todo: "free some", files: map[string]string{"/proc/meminfo": "MemTotal: 900000 kB\nMemAvailable: 1000 kB\n"}},
		"group's memory is used up": {check: "memory", status: "fail", todo: "free some", files: map[string]string{
			"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1073741824", "/sys/fs/cgroup/memory.current": "1073741824"}},
		"slow clock": {check: "clock", status: "warn", todo: "tsc", files: map[string]string{clock: "acpi_pm\n"}},
		"good clock": {check: "clock", status: "ok", files: map[string]string{clock: "kvm-clock\n"}},
		"few files":  {check: "open files", status: "warn", todo: "ulimit", change: func(m *machine) { m.files = func() (uint64, uint64, error) { return 256, 256, nil } }},
		"no files":   {check: "open files", status: "fail", todo: "ulimit", change: func(m *machine) { m.files = func() (uint64, uint64, error) { return 20, 20, nil } }},
		"files unknown": {check: "open files", status: "warn", todo: "cannot be read", change: func(m *machine) {
			m.files = func() (uint64, uint64, error) { return 0, 0, errors.New("no") }
		}},
		"full disk":  {check: "temp folder", status: "fail", todo: "TMPDIR", change: func(m *machine) { m.freeBytes = func(string) (uint64, error) { return 0, nil } }},
		"small disk": {check: "temp folder", status: "warn", todo: "may not fit", change: func(m *machine) { m.freeBytes = func(string) (uint64, error) { return 100 << 20, nil } }},
		"no folder":  {check: "temp folder", status: "fail", todo: "TMPDIR", change: func(m *machine) { m.folders[0].Dir = "" }},
		"no spare folder": {check: "temp folder", status: "warn", todo: "TMPDIR", change: func(m *machine) {
			m.folders[0].Dir, m.folders[0].Spare = "", true
		}},
		"folder to come": {check: "temp folder", status: "ok", change: func(m *machine) {
			m.folders[0].Dir = filepath.Join(m.folders[0].Dir, "not", "yet")
		}},
	} {
		m := fakeMachine(t, c.files)
		if c.change != nil {
			c.change(&m)
		}
		got, todo := status(m, c.check)
		if got != c.status || !strings.Contains(todo, c.todo) || (got == "ok") != (todo == "") {
			t.Errorf("%s: %s is %s, %q; it should be %s, %q", name, c.check, got, todo, c.status, c.todo)
		}
	}
}
