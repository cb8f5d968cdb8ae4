package line

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bellows"
	"bellows/app"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// Flags come from three layers: the command line, then the environment (BELLOWS_EPOCHS for
// --epochs), then a YAML file (--config or BELLOWS_CONFIG) whose keys are the names of flags. Each
// flag takes the first that has it; --set is taken key by key.
const environmentPrefix = "BELLOWS_"

// notSettings are flags that the command line alone has.
var notSettings = map[string]bool{"help": true, "version": true}

// variable returns the environment's name for a flag.
func variable(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configBytesMax bounds the file before it is read.
const configBytesMax = 1 << 20

// Fill sets flags that the command line does not give from the environment and the file.
func Fill(cmd *cobra.Command, environ []string) error {
	if err := refuseEmpty(cmd.Flags()); err != nil {
		return err
	}
	if err := fillFromEnvironment(cmd, environ); err != nil {
		return err
	}
	file := cmd.Flag("config").Value.String()
	if file == "" {
		return nil
	}
	return fillFromFile(cmd, file)
}

// refuseEmpty refuses a flag with an empty text on the command line: most likely a shell variable is not set, and the
// value that would be detected or chosen instead is not what the user meant.
func refuseEmpty(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = BadFlag(f.Name, "", "its value is empty; perhaps a variable is not set").Hinted("give it one, or leave --" + f.Name + " out")
		}
	})
	return err
}

func fillFromEnvironment(cmd *cobra.Command, environ []string) error {
	values := map[string]string{}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, environmentPrefix) {
			values[name] = value
		}
	}
	var first error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		value, ok := values[name]
		if !ok || first != nil || notSettings[f.Name] {
			return
		}
		if err := fill(f, value); err != nil {
			first = bellows.Errorf(bellows.Config, "read", "the environment", "%s=%s: %w", name, value, err).
				Hinted("change it, or unset " + name)
		}
	})
	return first
}

// UnknownVariables returns a sentence for each environment variable that looks like a flag's but belongs to no command:
// it sets nothing. That is no error, because Kubernetes, for example, sets variables of this form by itself.
func UnknownVariables(root *cobra.Command, environ []string) (sentences []string) {
	var known []string
	for _, name := range append(flagNames(root), "config") {
		known = append(known, variable(name))
	}
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		if strings.HasPrefix(name, environmentPrefix) && !slices.Contains(known, name) {
			sentences = append(sentences, fmt.Sprintf("%s is unknown and sets nothing%s", name, DidYouMean(name, known)))
		}
	}
	slices.Sort(sentences)
	return sentences
}

// Asked reports whether a boolean flag is given on a command line, or in the environment, that may be wrong elsewhere.
func Asked(args, environ []string, flag string) (asked bool) {
	for _, word := range slices.Concat(inEnvironment(environ, flag), args) {
		if word == "--" {
			break
		}
		switch value, ok := strings.CutPrefix(word, "--"+flag); {
		case ok && value == "":
			asked = true
		case ok && value[0] == '=':
			asked, _ = strconv.ParseBool(value[1:])
		}
	}
	return asked
}

// Given reports whether the command line itself gives a flag that has a value.
func Given(args []string, flag string) bool {
	for _, word := range args {
		switch {
		case word == "--":
			return false
		case word == "--"+flag || strings.HasPrefix(word, "--"+flag+"="):
			return true
		}
	}
	return false
}

// inEnvironment returns what the environment says of a flag, as a word of a command line.
func inEnvironment(environ []string, flag string) []string {
	for _, line := range environ {
		if value, ok := strings.CutPrefix(line, variable(flag)+"="); ok {
			return []string{"--" + flag + "=" + value}
		}
	}
	return nil
}

// Beneath reports whether the environment or a file may give a flag that the command line does not.
func Beneath(args, environ []string, flag string) bool {
	file := slices.ContainsFunc(args, func(word string) bool { return word == "--config" || strings.HasPrefix(word, "--config=") })
	return file || inEnvironment(environ, flag) != nil || inEnvironment(environ, "config") != nil
}

// fill sets a flag that a higher layer left alone. Settings are merged key by key: those that are
// there already stay.
func fill(f *pflag.Flag, value string) error {
	if set, ok := f.Value.(*Settings); ok {
		return set.fill(value)
	}
	if f.Changed {
		return nil
	}
	if err := f.Value.Set(value); err != nil {
		return unfit(f, err)
	}
	f.Changed = true
	return nil
}

// fillFromFile gives flags what the YAML file says.
func fillFromFile(cmd *cobra.Command, name string) error {
	f, err := os.Open(name)
	if err != nil {
		kind := bellows.IO
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			kind = bellows.NoInput
		}
		return bellows.Errorf(kind, "read", "--config "+name, "%w", bellows.Pathless(err)).Hinted("name a YAML file with --config or " + environmentPrefix + "CONFIG")
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, configBytesMax+1))
	switch {
	case err != nil:
		return bellows.Errorf(bellows.NoInput, "read", "--config "+name, "%w", bellows.Pathless(err)).Hinted("name a YAML file that can be read")
	case len(text) > configBytesMax:
		return bellows.Errorf(bellows.Config, "read", name, "it has more than %d bytes", configBytesMax)
	}
	return fillFromText(cmd, name, text)
}

// fillFromText reads the content of the file. A key that is no flag of any command is refused with
// its line; one of another command is passed over, so that one file serves several.
func fillFromText(cmd *cobra.Command, name string, text []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return bellows.Errorf(bellows.Config, "read", name, "it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: ")).
			Hinted("write a line for each flag, such as `epochs: 20`; blanks, not tabs, before what belongs to a line")
	}
	if len(doc.Content) == 0 {
		return nil
	}
	root := doc.Content[0]
	at := func(n *yaml.Node, format string, args ...any) error {
		place := fmt.Sprintf("%s:%d:%d", name, n.Line, n.Column)
		return bellows.Errorf(bellows.Config, "read", place, format, args...)
	}
	if root.Kind != yaml.MappingNode {
		return at(root, "the file must be a mapping of flags to values, such as `epochs: 20`")
	}
	known, seen := flagNames(cmd.Root()), map[string]bool{}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if seen[key.Value] {
			return at(key, "the key %q is there twice; keep one of the two", key.Value)
		}
		seen[key.Value] = true
		if !slices.Contains(known, key.Value) {
			return at(key, "unknown key %q%s", key.Value, DidYouMean(key.Value, known))
		}
		if err := fillFromNode(cmd.Flag(key.Value), value); err != nil {
			return at(value, "%s: %w", key.Value, err)
		}
	}
	return nil
}

// fillFromNode gives a flag the value of its key; nil is a flag of another command.
func fillFromNode(f *pflag.Flag, value *yaml.Node) error {
	if f == nil || f.Changed && f.Name != "set" {
		return nil
	}
	words, err := flagWords(f, value)
	if err != nil {
		return err
	}
	for _, word := range words {
		f.Changed = false // a list sets its flag once per entry
		if err := fill(f, word); err != nil {
			return err
		}
	}
	return nil
}

// DidYouMean returns the end of an error about a mistyped word: the known one that was probably meant, if there is one.
func DidYouMean(word string, known []string) string {
	if near := app.Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// flagWords returns the value of a key as the words that would follow the flag: one, or several for a
// list, or key=value for each entry of the mapping under `set`.
func flagWords(f *pflag.Flag, n *yaml.Node) ([]string, error) {
	_, isSettings := f.Value.(*Settings)
	_, isList := f.Value.(pflag.SliceValue)
	var words []string
	switch {
	case n.Kind == yaml.ScalarNode && !isSettings:
		return []string{n.Value}, nil
	case n.Kind == yaml.SequenceNode && isList:
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return nil, errors.New("it must be a list of plain values")
			}
			words = append(words, e.Value)
		}
		return words, nil
	case n.Kind == yaml.MappingNode && isSettings:
		for i := 0; i < len(n.Content); i += 2 {
			if n.Content[i+1].Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("%s: it must be a plain value", n.Content[i].Value)
			}
			words = append(words, n.Content[i].Value+"="+n.Content[i+1].Value)
		}
		return words, nil
	case isSettings:
		return nil, errors.New("it must be a mapping of settings, such as `set: {rank: 64}`")
	}
	return nil, errors.New("it must be a plain value")
}

// flagNames lists the flags of all commands below root.
func flagNames(root *cobra.Command) []string {
	names := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { names[f.Name] = true })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for name := range notSettings {
		delete(names, name)
	}
	delete(names, "config")
	return slices.Sorted(maps.Keys(names))
}

// Settings is the value of --set: hyperparameters by name.
type Settings map[string]string

func (s *Settings) String() string {
	var words []string
	for k, v := range *s {
		words = append(words, k+"="+v)
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}

// Type implements pflag.Value.
func (*Settings) Type() string { return "key=value" }

// Set takes key=value, or several separated by commas. A later one replaces an earlier one. A value may contain a comma
// that is not followed by a setting's name and =.
func (s *Settings) Set(text string) error { return s.take(text, true) }

// fill takes the settings of a lower layer, and does not replace existing keys.
func (s *Settings) fill(text string) error { return s.take(text, false) }

func (s *Settings) take(text string, replace bool) error {
	if *s == nil {
		*s = Settings{}
	}
	var names, values []string
	for word := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(word, "=")
		key = strings.TrimSpace(key)
		switch last := len(names) - 1; {
		case last >= 0 && (!ok || !settingName.MatchString(key)):
			values[last] += "," + word
		case !ok || key == "":
			return fmt.Errorf("%q is not key=value", word)
		default:
			names, values = append(names, key), append(values, value)
		}
	}
	for i, key := range names {
		if _, there := (*s)[key]; replace || !there {
			(*s)[key] = strings.TrimSpace(values[i])
		}
	}
	return nil
}

// settingName is what the names of settings look like.
var settingName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
