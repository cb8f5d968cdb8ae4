package line

import (
	"maps"
	"slices"
	"strings"

	"bellows/app"

	"github.com/spf13/cobra"
)

// Words returns the names of applications, short ones too, as `train` takes them.
func Words(apps []app.Application) (words []string) {
	for _, a := range apps {
		words = append(words, a.Describe().Name)
		for _, short := range a.Describe().Short {
			words = append(words, short.Name)
		}
	}
	return words
}

// Short turns the command `train APP` of an application into `train NAME`, where NAME is a short name that stands for
// settings. These settings may also be given, but only with the same values.
func Short(cmd *cobra.Command, of string, short app.Short) *cobra.Command {
	means := "train " + of
	for _, set := range []map[string]string{short.Settings, short.Defaults} {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			means += " --set " + key + "=" + set[key]
		}
	}
	title := strings.ToUpper(short.Title[:1]) + short.Title[1:]
	_, data, _ := strings.Cut(strings.Split(cmd.Example, "\n")[0], " "+of+" ")
	cmd.Use, cmd.Short, cmd.Example = short.Name+" DATA...", title, "train "+short.Name+" "+data
	cmd.Long = title + ": short for `" + means + "`."
	cmd.Annotations = Details("It also takes the other settings of " + of + ": `help " + of + "` lists them.")
	settings, run := cmd.Flags().Lookup("set").Value.(*Settings), cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, key := range slices.Sorted(maps.Keys(short.Settings)) {
			if given, ok := (*settings)[key]; ok && given != short.Settings[key] {
				return BadFlag("set", key+"="+given, "train %s sets %s=%s; leave it out, or say train %s", short.Name, key, short.Settings[key], of)
			}
		}
		for _, set := range []map[string]string{short.Settings, short.Defaults} {
			for key, value := range set {
				if err := settings.fill(key + "=" + value); err != nil {
					return err
				}
			}
		}
		return run(cmd, args)
	}
	return cmd
}
