package vec

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// A level is a kernel set; a higher level is expected to be faster.
type level uint32

const (
	levelGo     level = iota // plain Go, the reference
	levelAVX2                // AVX2, FMA, BMI2 and F16C
	levelAVX512              // those, with AVX-512 F and VL for wide tiles and 16-bit formats
)

var levelNames = [...]string{levelGo: "go", levelAVX2: "avx2", levelAVX512: "avx512"}

// current is the set in use. It is atomic only so that [Use] beside a running
// kernel is no data race; the load is a plain load on amd64 and arm64.
var current atomic.Uint32

func init() { current.Store(uint32(detect())) }

// active returns the set in use.
func active() level { return level(current.Load()) }

// Sets returns the kernel sets that this CPU can run, best first. The last is
// always "go".
func Sets() []string {
	var names []string
	for l := int(detect()); l >= 0; l-- {
		names = append(names, levelNames[l])
	}
	return names
}

// Kernels returns the name of the kernel set in use.
func Kernels() string { return levelNames[active()] }

// Use pins the kernel set by name. Call it before any kernel runs: two runs
// repeat bit for bit only if they use the same set (or "avx2" and "avx512",
// which agree). An error means that the name is unknown or that this CPU lacks
// the instructions; the set in use is then unchanged.
func Use(name string) error {
	for l, known := range levelNames {
		if known != name {
			continue
		}
		if level(l) > detect() {
			return fmt.Errorf("vec: use kernels %q: this CPU lacks the instructions; choose one of %s",
				name, strings.Join(Sets(), ", "))
		}
		current.Store(uint32(l))
		return nil
	}
	return fmt.Errorf("vec: use kernels %q: no such set; choose one of %s",
		name, strings.Join(Sets(), ", "))
}
