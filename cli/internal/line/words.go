package line

import (
	"fmt"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/figures"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Choose makes a command that only has subcommands. Without an argument it shows its help; an unknown subcommand is an
// error that suggests the nearest known one.
func Choose(cmd *cobra.Command, noun string) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return Unknown(cmd, noun, args[0], below(cmd))
	}
}

// below returns the names of the commands below another.
func below(cmd *cobra.Command) (names []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// Unknown returns the error for an unknown name, with the nearest known one.
func Unknown(cmd *cobra.Command, noun, word string, known []string) error {
	err := bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "there is no %s %q", noun, word)
	if near := app.Nearest(word, known); near != "" {
		err.Hint = "did you mean " + near + "?"
	} else if len(known) == 1 {
		err.Hint = "there is only " + known[0]
	} else if len(known) > 1 {
		err.Hint = "there are " + strings.Join(known, ", ")
	}
	return err
}

// flagError returns the error for a flag that cannot be parsed.
func flagError(cmd *cobra.Command, cause error) error {
	hint, why := flagFault(cause)
	err := &bellows.Error{Kind: bellows.Usage, Op: cmd.CommandPath(), Err: why, Hint: hint}
	word, isUnknown := strings.CutPrefix(cause.Error(), "unknown flag: --")
	if isUnknown {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if others := holders(cmd.Root(), word); len(others) > 0 {
			err.Hint = "it is a flag of " + strings.Join(others[:min(4, len(others))], ", ")
		} else if near := app.Nearest(word, known); near != "" {
			err.Hint = "did you mean --" + near + "?"
		}
	}
	if err.Hint == "" {
		err.Hint = "see " + cmd.CommandPath() + " --help"
	}
	return err
}

// holders returns the commands below another that have a flag.
func holders(cmd *cobra.Command, flag string) (paths []string) {
	if cmd.IsAvailableCommand() && cmd.LocalNonPersistentFlags().Lookup(flag) != nil {
		paths = append(paths, cmd.CommandPath())
	}
	for _, sub := range cmd.Commands() {
		paths = append(paths, holders(sub, flag)...)
	}
	return paths
}

// Exactly wants that many arguments and says what they are.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "it takes no argument, and %d was given", len(args))
		}
		err := bellows.Errorf(bellows.Usage, cmd.CommandPath(), "", "%s wanted, and %d given",
			figures.Plural(len(names), "argument"), len(args))
		err.Hint = "call it as " + cmd.CommandPath() + " " + strings.Join(names, " ")
		return err
	}
}

// AtLeastOne wants an argument of that name, or several.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return Exactly(name)(cmd, args)
	}
}

// BadFlag returns the error for a flag with an impossible value.
func BadFlag(name, value, format string, args ...any) *bellows.Error {
	return bellows.Errorf(bellows.Usage, "set", fmt.Sprintf("--%s=%s", name, value), format, args...)
}

// Lay prepares a whole tree of commands: errors of flags, examples, and the numbers of flags. Lay puts
// the name of the program before each line of the examples, which are written without it.
func Lay(root *cobra.Command) {
	root.SetFlagErrorFunc(flagError)
	name(root, root.Name())
}

func name(cmd *cobra.Command, program string) {
	if cmd.Example != "" {
		indent := "  " + program + " "
		cmd.Example = indent + strings.ReplaceAll(cmd.Example, "\n", "\n"+indent)
	}
	checkNumbers(cmd.Flags())
	for _, sub := range cmd.Commands() {
		name(sub, program)
	}
}
