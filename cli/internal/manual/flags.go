package manual

import (
	"cmp"
	_ "embed" // flags.txt
	"strings"

	"github.com/spf13/cobra"
)

// explanation returns the explanation of a flag of a command: the one for that command, else the one for the name.
func explanation(cmd *cobra.Command, flag string) string {
	texts := FlagTexts()
	text := texts[flag]
	if words := strings.Fields(cmd.CommandPath()); len(words) > 1 {
		verb := words[1]
		if verb == "demo" {
			verb = "train"
		}
		text = cmp.Or(texts[verb+" "+flag], text)
	}
	return strings.ReplaceAll(text, "`bellows ", "`"+cmd.Root().Name()+" ")
}

//go:embed flags.txt
var flagsFile string

// FlagTexts returns the explanations of flags for which a line is not enough, from flags.txt: by the name of the flag,
// or by a command and the name if commands have different flags of one name. An entry is the key on a line, and its
// text on indented lines.
func FlagTexts() map[string]string {
	texts := map[string]string{}
	for entry := range strings.SplitSeq(flagsFile, "\n\n") {
		key, text, _ := strings.Cut(entry, "\n")
		texts[key] = strings.Join(strings.Fields(text), " ")
	}
	return texts
}
