package verbs

import (
	"embed"
	"slices"
	"strings"

	"bellows"
	"bellows/cli/internal/line"

	"github.com/spf13/cobra"
)

// schemas holds one JSON schema per command: each line that the command writes with --json is
// valid under it. error.json is the last line of a command that failed.
//
//go:embed schema/*.json
var schemas embed.FS

// sameSchema are commands that write what another does.
var sameSchema = map[string]string{"demo": "train", "events": "train", "top": "status", "cache-clear": "cache-show", "drain": "scale"}

// schemaNames returns the commands that have a schema, as `schema` takes them.
func (c *Tool) schemaNames() []string {
	entries, err := schemas.ReadDir("schema")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	var names []string
	for name := range sameSchema {
		names = append(names, name)
	}
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	for _, v := range c.added {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return names
}

func (c *Tool) schema(name string) ([]byte, error) {
	for _, v := range c.added {
		if v.Name == name {
			return v.Schema()
		}
	}
	if same := sameSchema[name]; same != "" {
		name = same
	}
	return schemas.ReadFile("schema/" + name + ".json")
}

func (c *Tool) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [COMMAND]",
		Short: "Print the JSON schema of what a command writes with --json",
		Annotations: line.Details("Every line that the command writes with --json is valid under the schema (draft 2020-12). Without COMMAND it lists the " +
			"schemas. \"error\" is the last line of a command that failed."),
		Example:   "schema train\nschema",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: c.schemaNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			names := c.schemaNames()
			if len(args) == 0 {
				c.Printf("%s\n", strings.Join(names, "\n"))
				return c.Object(map[string][]string{"schemas": names})
			}
			if !slices.Contains(names, args[0]) {
				return line.Unknown(cmd, "schema of", args[0], names)
			}
			text, err := c.schema(args[0])
			if err != nil {
				return bellows.Errorf(bellows.Bug, "read", args[0], "%w", err)
			}
			_, err = c.Write(text)
			return err
		},
	}
}
