package pair

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// define defines the flags that every command has.
func (b *Bench) define(flags *flag.FlagSet) {
	flags.BoolVar(&b.Full, "full", false, "all sizes and more turns: minutes instead of seconds")
	flags.BoolVar(&b.JSON, "json", false, "print one JSON object a row")
	flags.StringVar(&b.OpenBLAS, "openblas", "", "`kernels` that peers on OpenBLAS are forced to use, such as SKYLAKEX (default: its own choice; generic ones are refused)")
	flags.IntVar(&b.Turns, "turns", 0, "turns of each side in a comparison (default: fewer in the quick form)")
}

// settle finds the turns, given those that each form has by default. It refuses arguments that are not flags, so that a mistyped
// flag does not go unseen.
func (b *Bench) settle(rest []string, quick, full int) error {
	if len(rest) > 0 {
		return fmt.Errorf("argument %q is not a flag: every setting here is one, see --help", rest[0])
	}
	if b.Turns == 0 {
		b.Turns = quick
		if b.Full {
			b.Turns = full
		}
	}
	if b.Turns < 1 && quick > 0 {
		return fmt.Errorf("--turns %d: a comparison needs at least one turn", b.Turns)
	}
	return nil
}

// Header prints what the figures belong to: processor, cores, load, Go and commit. JSON output has no header.
func (b *Bench) Header(format string, args ...any) {
	if b.JSON {
		return
	}
	form := "quick"
	if b.Full {
		form = "full"
	}
	fmt.Fprintf(b.out, format+"\n%s, %d cores, load %s, %s%s; %s form, %d turns a side, interleaved\n", append(args,
		processor(), runtime.NumCPU(), Load(), runtime.Version(), revision(), form, b.Turns)...)
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				return strings.TrimLeft(strings.TrimSpace(name), ": \t")
			}
		}
	}
	return runtime.GOARCH
}

// Load returns that of the machine, over the last minute.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return ", commit " + s.Value[:12]
		}
	}
	return ""
}
