package pair

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Options is the flags that every command here has.
type Options struct {
	Full  bool // all sizes and more turns, minutes instead of seconds
	JSON  bool // one object a row
	Turns int  // turns of each side in a comparison
}

// Flags defines the common flags; Turns is settled by Parse.
func Flags() *Options {
	o := &Options{}
	flag.BoolVar(&o.Full, "full", false, "all sizes and more turns: minutes instead of seconds")
	flag.BoolVar(&o.JSON, "json", false, "print one JSON object a row")
	flag.IntVar(&o.Turns, "turns", 0, "turns of each side in a comparison (default: fewer in the quick form)")
	return o
}

// Parse reads the command line, given the turns that each form has by default. It refuses arguments that are not flags, so that a mistyped flag does not go unseen.
func (o *Options) Parse(quick, full int) error {
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("argument %q is not a flag: every setting here is one, see --help", flag.Arg(0))
	}
	if o.Turns == 0 {
		o.Turns = quick
		if o.Full {
			o.Turns = full
		}
	}
	if o.Turns < 1 {
		return fmt.Errorf("--turns %d: a comparison needs at least one turn", o.Turns)
	}
	return nil
}

// Header prints what the figures belong to: processor, cores, load, Go and commit. JSON output has no header.
func (o *Options) Header(w io.Writer, what string) {
	if o.JSON {
		return
	}
	form := "quick"
	if o.Full {
		form = "full"
	}
	fmt.Fprintf(w, "%s\n%s, %d cores, load %s, %s%s; %s form, %d turns a side, interleaved\n", what,
		processor(), runtime.NumCPU(), load(), runtime.Version(), revision(), form, o.Turns)
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

func load() string {
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

// Exit prints an error and ends the program with status 1; without an error it returns.
func Exit(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}
