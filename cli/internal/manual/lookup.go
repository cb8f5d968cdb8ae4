package manual

import (
	"fmt"
	"slices"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpCommand returns the command `help`: it explains the command, application, setting or flag with the given name,
// and refuses unknown names.
func (m *manual) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [NAME]...",
		Short: "Explain a command, an application, a setting or a flag",
		Long:  "Explain a command, an application, a setting or a flag.",
		Annotations: line.Details("A name that is a setting of several applications, or a flag of several commands, is explained for " +
			"each of them. Put the application or the command before it to choose one: help linear scale, help drain notice."),
		DisableFlagParsing: true,                                                // a flag is a name here
		PersistentPreRunE:  func(*cobra.Command, []string) error { return nil }, // help needs no valid configuration
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			at, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names(at), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && (args[0] == "-h" || args[0] == "--help") {
				cmd.Print(m.help(cmd, false))
				return nil
			}
			text, err := m.explain(args)
			if err == nil {
				cmd.Print(text)
			}
			return err
		},
	}
}

// names returns the names of the commands below a command.
func names(cmd *cobra.Command) (list []string) {
	for _, r := range commands(cmd, (*cobra.Command).IsAvailableCommand) {
		list = append(list, r.name)
	}
	return list
}

// explain returns the explanation of what words name. Commands come first: `help scale` is the command, and names the
// setting.
func (m *manual) explain(words []string) (string, error) {
	at, rest := m.find(words)
	switch {
	case len(rest) == 0:
		at.InitDefaultHelpFlag()
		text := m.help(at, true)
		if len(words) == 1 {
			text += m.alsoSetting(words[0])
		}
		return text, nil
	case at == m.root && len(rest) <= 2:
		if d := m.application(rest[0]); d != nil && len(rest) == 1 {
			return explainAll(d), nil
		} else if d != nil {
			return m.inApplication(d, rest[1])
		}
	case len(rest) == 1 && m.trained(at) != nil:
		return m.inApplication(m.trained(at), rest[0])
	}
	if len(rest) == 1 {
		if text := m.named(at, rest[0]); text != "" {
			return text, nil
		}
	}
	return "", m.unknown(at, rest[0])
}

// find returns the command with the given path, and the words after the path.
func (m *manual) find(words []string) (*cobra.Command, []string) {
	at := m.root
	for i, word := range words {
		next := slices.IndexFunc(at.Commands(), func(sub *cobra.Command) bool {
			return sub.Name() == word && !sub.Hidden
		})
		if next < 0 {
			return at, words[i:]
		}
		at = at.Commands()[next]
	}
	return at, nil
}

// alsoSetting returns a line that names the help of the setting with the name of a command, or nothing.
func (m *manual) alsoSetting(name string) string {
	for _, d := range m.apps {
		if setting(&d, name) != nil {
			return fmt.Sprintf("\n%s is also a setting: `%s help %s %s` explains it.\n", name, m.root.Name(), d.Name, name)
		}
	}
	return ""
}

// named explains a name: the settings of all applications that have it, where at is the root, and the flags of at and
// the commands below it. It returns nothing if no setting and no flag has the name.
func (m *manual) named(at *cobra.Command, word string) string {
	name := strings.TrimLeft(word, "-")
	var parts []string
	if at == m.root && word == name {
		for _, d := range m.apps {
			if s := setting(&d, name); s != nil {
				parts = append(parts, explainSetting(&d, s))
			}
		}
	}
	for _, f := range Flags(at) {
		if f.Name == name {
			parts = append(parts, f.explain())
		}
	}
	return strings.Join(parts, "\n")
}

// inApplication explains a setting of an application, or a flag of the command that trains it.
func (m *manual) inApplication(d *app.Description, word string) (string, error) {
	if s := setting(d, word); s != nil {
		return explainSetting(d, s), nil
	}
	train, rest := m.find([]string{"train", d.Name})
	if text := m.named(train, word); text != "" && len(rest) == 0 {
		return text, nil
	}
	var known []string
	for _, s := range d.Settings {
		known = append(known, s.Name)
	}
	return "", line.Unknown(m.root, "setting or flag of "+d.Name, word, known)
}

// unknown returns the error for a word without a meaning.
func (m *manual) unknown(at *cobra.Command, word string) error {
	err := line.Unknown(at, "command", word, names(at))
	if at != m.root || app.Nearest(word, names(at)) != "" {
		return err
	}
	var others []string
	for _, d := range m.apps {
		others = append(others, d.Name)
		for _, s := range d.Settings {
			others = append(others, s.Name)
		}
	}
	if near := app.Nearest(word, others); near != "" {
		return bellows.Errorf(bellows.Usage, at.CommandPath(), "", "there is no command, application, setting or flag %q", word).
			Hinted("did you mean " + near + "?")
	}
	return err
}

// setting returns a setting of an application by its name, or nil.
func setting(d *app.Description, name string) *app.Setting {
	at := slices.IndexFunc(d.Settings, func(s app.Setting) bool { return s.Name == name })
	if at < 0 {
		return nil
	}
	return &d.Settings[at]
}

func explainSetting(d *app.Description, s *app.Setting) string {
	text := fmt.Sprintf("%s %s=%s\n  %s\n", d.Name, s.Name, s.Default, s.Reason)
	if s.Details != "" {
		text += "\n" + Wrap(s.Details) + "\n"
	}
	return text
}

// explainAll explains every setting of an application.
func explainAll(d *app.Description) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Settings of %s (train %[1]s DATA --set NAME=VALUE), with their defaults.\n", d.Name)
	for i := range d.Settings {
		fmt.Fprintf(&b, "\n%s", explainSetting(d, &d.Settings[i]))
	}
	if d.Page != "" {
		fmt.Fprintf(&b, "\nThe page %s has the same list.\n", d.Page)
	}
	return b.String()
}

// Flag is a flag that one or several commands have, with the same meaning.
type Flag struct {
	Name, Heading, Line, Details string
	Commands                     []string // that have it
}

// Flags returns the flags of a command and those below it, by name and in the order of the commands. A flag that
// means something else in another command is listed again.
func Flags(cmd *cobra.Command) (list []Flag) {
	own := func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		heading, text := line.Describe(f)
		list = append(list, Flag{f.Name, heading, text, explanation(cmd, f.Name), []string{cmd.CommandPath()}})
	}
	cmd.LocalFlags().VisitAll(own)
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "completion" {
			continue
		}
		for _, f := range Flags(sub) {
			at := slices.IndexFunc(list, func(g Flag) bool {
				return g.Name == f.Name && g.Heading == f.Heading && g.Line == f.Line && g.Details == f.Details
			})
			if at < 0 {
				list = append(list, f)
			} else {
				list[at].Commands = append(list[at].Commands, f.Commands...)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Flag) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// commandsMost is how many commands an explanation names.
const commandsMost = 3

// Holders names the first commands that have a flag, and counts the others.
func (f Flag) Holders() string {
	if more := len(f.Commands) - commandsMost; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(f.Commands[:commandsMost], ", "), more)
	}
	return strings.Join(f.Commands, ", ")
}

func (f Flag) explain() string {
	text := fmt.Sprintf("%s (%s)\n  %s\n", f.Heading, f.Holders(), f.Line)
	if f.Details != "" {
		text += "\n" + Wrap(f.Details) + "\n"
	}
	return text
}
