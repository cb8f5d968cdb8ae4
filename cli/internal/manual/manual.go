// Package manual prints help in two lengths: one line for each flag and setting (`COMMAND --help`), or a full
// explanation (`help NAME`). `help NAME` explains a command, an application, a setting or a flag.
//
// Its caller, in order: builds the tree of commands; calls Install with the applications whose settings the commands
// take; and runs the tree. The explanation of a setting is app.Setting.Details, that of a command is its annotation
// line.Details, and that of a flag stands in flags.txt.
//
// The package does not decide what commands do: it knows their names only to explain their flags. A name without an
// explanation shows its line of help alone.
package manual

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"bellows/app"
	"bellows/cli/internal/line"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Width is the number of columns that a line of help may have.
const Width = 90

// manual prints the help of one tree of commands.
type manual struct {
	root *cobra.Command
	apps []app.Description
}

// Install gives a tree of commands its help, and the command `help`.
func Install(root *cobra.Command, apps []app.Description) {
	m := &manual{root, apps}
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { cmd.Print(m.help(cmd, false)) })
	root.SetHelpCommand(m.helpCommand())
}

// help returns the help of a command. The full one begins with its details.
func (m *manual) help(cmd *cobra.Command, full bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimRight(cmp.Or(cmd.Long, cmd.Short), "\n"))
	details := line.DetailsOf(cmd.Annotations)
	if full && details != "" {
		fmt.Fprintf(&b, "\n%s\n", Wrap(details))
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	if cmd.Runnable() {
		fmt.Fprintf(&b, "\nUsage:\n  %s\n", cmd.UseLine())
	}
	d := m.trained(cmd)
	writeRows(&b, "Commands:", commands(cmd, (*cobra.Command).IsAvailableCommand))
	writeRows(&b, "Settings (--set NAME=VALUE):", settings(d))
	if !cmd.IsAdditionalHelpTopicCommand() {
		writeRows(&b, "Flags:", flags(cmd.LocalFlags()))
		writeRows(&b, "Flags of every command:", flags(cmd.InheritedFlags()))
	}
	writeRows(&b, "More help:", m.more(cmd, d, !full && details != ""))
	return b.String()
}

// trained returns the application that a command trains, or nil.
func (m *manual) trained(cmd *cobra.Command) *app.Description {
	if parent := cmd.Parent(); parent == nil || parent.Name() != "train" && parent.Name() != "demo" {
		return nil
	}
	return m.application(cmd.Name())
}

// application returns the application of a name, or nil.
func (m *manual) application(name string) *app.Description {
	for i := range m.apps {
		if m.apps[i].Name == name {
			return &m.apps[i]
		}
	}
	return nil
}

// row is a name and the line that explains it.
type row struct{ name, text string }

// writeRows writes rows under a title, the texts below each other. Without rows it writes nothing.
func writeRows(b *strings.Builder, title string, rows []row) {
	if len(rows) == 0 {
		return
	}
	width := 0
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.name))
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, r := range rows {
		fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("  %-*s  %s", width, r.name, r.text), " "))
	}
}

// commands returns the subcommands of a command that satisfy a condition.
func commands(cmd *cobra.Command, holds func(*cobra.Command) bool) (rows []row) {
	for _, sub := range cmd.Commands() {
		if holds(sub) {
			rows = append(rows, row{sub.Name(), sub.Short})
		}
	}
	return rows
}

func settings(d *app.Description) (rows []row) {
	if d == nil {
		return nil
	}
	for _, s := range d.Settings {
		rows = append(rows, row{s.Name + "=" + s.Default, s.Reason})
	}
	return rows
}

// flags returns the flags of a set that are not hidden.
func flags(set *pflag.FlagSet) (rows []row) {
	set.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			name, text := line.Describe(f)
			rows = append(rows, row{name, text})
		}
	})
	return rows
}

// more lists the topics that explain a command further.
func (m *manual) more(cmd *cobra.Command, d *app.Description, details bool) (rows []row) {
	program := m.root.Name()
	if details {
		_, path, _ := strings.Cut(cmd.CommandPath(), " ")
		rows = append(rows, row{program + " help " + path, "Explain this command"})
	}
	if d != nil && len(d.Settings) > 0 {
		text := "Explain each setting of " + d.Name
		if d.Page != "" {
			text += "; also in " + d.Page
		}
		rows = append(rows, row{program + " help " + d.Name, text})
		rows = append(rows, row{program + " help " + d.Settings[0].Name, "Explain one setting; the same for a flag, such as epochs"})
	}
	for _, r := range commands(cmd, (*cobra.Command).IsAdditionalHelpTopicCommand) {
		rows = append(rows, row{program + " help " + r.name, r.text})
	}
	if cmd == m.root {
		rows = append(rows, row{program + " help NAME", "Explain a command, an application, a setting or a flag"})
	}
	return rows
}

// Wrap breaks each line of a text that is wider than Width between words.
func Wrap(text string) string {
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		start := 0
		for utf8.RuneCountInString(paragraph[start:]) > Width {
			cut := strings.LastIndexByte(paragraph[:start+Width], ' ')
			if cut <= start {
				break
			}
			out, start = append(out, paragraph[start:cut]), cut+1
		}
		out = append(out, paragraph[start:])
	}
	return strings.Join(out, "\n")
}
