package pair

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Program is one of the measurements of a command: --only chooses it by its name.
type Program struct {
	Name   string
	Turns  [2]int // of each side, in the quick form and in the full one; none: it prints one JSON object and takes no common flag
	Strict bool   // a row below its target ends the command with status 1
	// Define defines the program's own flags, and returns the function that measures once they are parsed. A program without flags
	// has Run in its place.
	Define func(flags *flag.FlagSet) func(b *Bench)
	Run    func(b *Bench)
	// Roles are what processes do that the program starts from its own executable, by name: see RoleArgs.
	Roles map[string]func(args []string)
}

// RoleArgs returns the arguments, without the program's own name, of a process that plays a role of a Program.
func RoleArgs(role string, args ...string) []string { return append([]string{"--role", role}, args...) }

// Play plays the role that this process was started for, and then ends the process. Without a role it returns.
func Play(list ...Program) {
	if len(os.Args) < 3 || os.Args[1] != "--role" {
		return
	}
	for _, p := range list {
		if role := p.Roles[os.Args[2]]; role != nil {
			Exit(Attempt(func() { role(os.Args[3:]) }))
			os.Exit(0)
		}
	}
	Exit(fmt.Errorf("--role %s: no such role", os.Args[2]))
}

// Programs runs the measurements of a command: those that --only names, or all. A flag that several of them define is
// set for each.
func Programs(list ...Program) {
	Play(list...)
	Exit(Attempt(func() {
		b, only := new(Bench), onlyOf(os.Args[1:])
		chosen := Must(choose(list, only))
		b.define(flag.CommandLine)
		flag.String("only", "", "`programs` to run, with commas, or NAME/PART for a part of one (default: all): "+names(list)+"; with --help, shows their flags alone")
		runs := defineAll(chosen, flag.CommandLine)
		flag.Parse()
		for i, p := range chosen {
			one := *b
			one.Part, one.Strict = p.part, p.Strict
			if p.Turns[0] == 0 && len(chosen) == 1 && *b != (Bench{}) {
				Check(fmt.Errorf("--only %s prints one JSON object and takes neither --full, --json nor --turns", p.Name))
			}
			one.run(flag.Args(), p.Turns[0], p.Turns[1], runs[i])
		}
	}))
}

// defineAll defines the flags of all chosen programs, and returns the functions that measure.
func defineAll(chosen []choice, flags *flag.FlagSet) (runs []func(*Bench)) {
	all := map[string]shared{}
	for _, p := range chosen {
		run, own := p.Run, flag.NewFlagSet(p.Name, flag.ContinueOnError)
		if p.Define != nil {
			run = p.Define(own)
		}
		runs = append(runs, run)
		own.VisitAll(func(f *flag.Flag) { all[f.Name] = append(all[f.Name], f) })
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		flags.Var(all[name], name, all[name][0].Usage)
	}
	return runs
}

// shared is a flag of one program, or the flags of one name of several: what is set is set for each.
type shared []*flag.Flag

// String implements flag.Value.
func (s shared) String() string {
	if len(s) == 0 {
		return ""
	}
	return s[0].Value.String()
}

// Set implements flag.Value.
func (s shared) Set(text string) (err error) {
	for _, f := range s {
		err = errors.Join(err, f.Value.Set(text))
	}
	return err
}

// IsBoolFlag reports whether the flag is set without a value.
func (s shared) IsBoolFlag() bool {
	b, ok := s[0].Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// onlyOf returns the value of --only among arguments, which decides which other flags there are.
func onlyOf(args []string) (only string) {
	for i, a := range args {
		name, value, ok := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if name != "only" || a == name {
			continue
		}
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		only = value
	}
	return only
}

// choice is a program that was chosen, and the part of it that alone is wanted; "": all.
type choice struct {
	Program
	part string
}

// choose returns the programs that --only names, in the order of the list; "" names all.
func choose(list []Program, only string) (chosen []choice, err error) {
	parts := map[string]string{}
	for word := range strings.SplitSeq(only, ",") {
		name, part, _ := strings.Cut(word, "/")
		if only != "" && !slices.ContainsFunc(list, func(p Program) bool { return p.Name == name }) {
			return nil, fmt.Errorf("--only %s: no program %q; known programs: %s", only, name, names(list))
		}
		parts[name] = part
	}
	for _, p := range list {
		if part, named := parts[p.Name]; named || only == "" {
			chosen = append(chosen, choice{p, part})
		}
	}
	return chosen, nil
}

// names returns the names of programs, with commas.
func names(list []Program) string {
	var all []string
	for _, p := range list {
		all = append(all, p.Name)
	}
	return strings.Join(all, ", ")
}
