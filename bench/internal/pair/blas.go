package pair

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/cpu"
)

// A peer on OpenBLAS is as fast as the kernels that its library chooses for this CPU. A library that does not know the CPU takes generic
// kernels. They are several times slower than those that the CPU could run, and a race against them shows nothing. With OPENBLAS_VERBOSE=2 the
// library prints the name of its kernels, which is that of a core, so peers need no code for it.

// olderCores names the kernels of OpenBLAS that use neither AVX2 nor the vectors of a current ARM core.
var olderCores = []string{"armv8", "atom", "banias", "barcelona", "bobcat", "bulldozer", "coppermine", "core2", "dunnington", "generic", "katmai", "nano",
	"nehalem", "northwood", "opteron", "opteron_sse3", "penryn", "piledriver", "prescott", "sandybridge", "unknown"}

// isGeneric reports whether this CPU could run better kernels of OpenBLAS than the named ones.
func isGeneric(core string) bool {
	return (cpu.X86.HasAVX2 || runtime.GOARCH == "arm64") && slices.Contains(olderCores, strings.ToLower(core))
}

// betterCore names kernels of OpenBLAS that this CPU can run.
func betterCore() string {
	switch {
	case runtime.GOARCH == "arm64":
		return "NEOVERSEN1"
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL:
		return "SKYLAKEX"
	}
	return "HASWELL"
}

var coreLine = regexp.MustCompile(`(?m)^Core: (\S+)$`)

// coreWait bounds the wait for the name of a core, which a library prints as it is loaded.
const coreWait = 2 * time.Second

// checkBLAS finds out, once, which kernels the child's OpenBLAS uses. It notes them, and refuses generic ones that were not forced.
func (c *Child) checkBLAS() error {
	if c.core != "" || c.note == nil {
		return nil
	}
	libraries := c.libraries()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		if m := coreLine.FindStringSubmatch(c.stderr.String()); m != nil {
			c.core = m[1]
			break
		}
		if !strings.Contains(libraries, "openblas") || time.Since(began) > coreWait {
			break
		}
	}
	switch {
	case c.core == "" && strings.Contains(libraries, "openblas"):
		return fmt.Errorf("pair: %s has an OpenBLAS that does not name its kernels, so the race would not tell what it is against", c.name)
	case c.core == "" && strings.Contains(libraries, "libblas.so"):
		return fmt.Errorf("pair: %s computes with the reference BLAS, which flatters us: install libopenblas0-pthread", c.name)
	case c.core == "":
		return nil // it has none yet
	case c.force != "":
		c.note("%s: OpenBLAS with the kernels of %s, forced by --openblas %s", c.name, c.core, c.force)
	case isGeneric(c.core):
		return fmt.Errorf("pair: %s has an OpenBLAS that took the kernels of %s, which this CPU is far beyond: a race against them flatters us; force better ones by --openblas %s", c.name, c.core, betterCore())
	default:
		c.note("%s: OpenBLAS with the kernels of %s", c.name, c.core)
	}
	return nil
}

// mapsOf returns a function that reads the files that a process has mapped into memory; of a process that has ended, or on another system, none.
func mapsOf(pid int) func() string {
	return func() string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			return ""
		}
		return string(text)
	}
}

// buffer is a bytes.Buffer that one goroutine writes while another reads it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what was written so far.
func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
