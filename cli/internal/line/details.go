package line

import (
	"strings"

	"github.com/spf13/pflag"
)

const detailsOf = "bellows-details"

// Details returns the annotation of a command that has a longer explanation, which `help COMMAND` prints.
func Details(text string) map[string]string { return map[string]string{detailsOf: text} }

// DetailsOf returns the longer explanation among the annotations of a command, or nothing.
func DetailsOf(annotations map[string]string) string { return annotations[detailsOf] }

// valueNames has the value names that a line of help does not show in lower case, with what it shows instead.
var valueNames = map[string]string{"ADDR": "address", "ADDRS": "addresses", "K": "K", "AB": "AB"}

// Describe returns a flag with the name of its value, such as "--out FOLDER", and its line of help with the default.
// The usage text of a flag has the value's name in backquotes and in capitals: `FOLDER` of the run, or `FOLDER`:
// where the run goes.
func Describe(f *pflag.Flag) (heading, text string) {
	value, usage := pflag.UnquoteUsage(f)
	if rest, ok := strings.CutPrefix(usage, value+": "); ok {
		usage = rest
	} else if word, ok := valueNames[value]; ok {
		usage = strings.Replace(usage, value, word, 1)
	} else if value != "" {
		usage = strings.Replace(usage, value, strings.ToLower(value), 1)
	}
	heading = "--" + f.Name
	if f.Shorthand != "" {
		heading = "-" + f.Shorthand + ", " + heading
	}
	switch f.DefValue {
	case "", "0", "0s", "[]", "false", "-1":
	default:
		if !strings.Contains(usage, "(default") {
			usage += " (default " + f.DefValue + ")"
		}
	}
	return strings.TrimSpace(heading + " " + value), usage
}
