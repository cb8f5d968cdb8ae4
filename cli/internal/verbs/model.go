package verbs

import (
	"maps"
	"slices"
	"strings"

	"bellows/app"
	"bellows/cli/internal/figures"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/model"

	"github.com/spf13/cobra"
)

func (c *Tool) modelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "model",
		Short:   "Look at a saved model",
		Example: "model show " + c.sample(0).model(),
	}
	line.Choose(cmd, "model command")
	cmd.AddCommand(c.modelShowCommand())
	return cmd
}

// modelReport is what `model show --json` prints.
type modelReport struct {
	Model    string             `json:"model"`
	App      string             `json:"app"`
	Settings map[string]string  `json:"settings"`
	Metrics  map[string]float64 `json:"metrics"`
	Versions map[string]string  `json:"versions"`
	Tensors  []tensorReport     `json:"tensors"`
	Files    []model.File       `json:"files"`
	IDs      []idsReport        `json:"ids"`
	Learned  []string           `json:"learned,omitempty"` // what the application says of it, line by line
}

type tensorReport struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

type idsReport struct {
	File  string   `json:"file"`
	Count int      `json:"count"`
	First []string `json:"first"` // at most idsShown
}

// idsShown is how many names of each list `model show` prints.
const idsShown = 5

func (c *Tool) modelShowCommand() *cobra.Command {
	dir := c.sample(0).model()
	return &cobra.Command{
		Use:   "show MODEL",
		Short: "Print a model's tensors, settings, metrics, ids and checksums",
		Long: "Print a model's tensors, settings, metrics, ids and checksums.\n" +
			"Every byte of the model is checked first; a damaged file is named.",
		Example: "model show " + dir + "\nmodel show " + dir + " --json",
		Args:    line.Exactly("MODEL"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := model.Open(args[0])
			if err != nil {
				return err
			}
			r := reportModel(args[0], m)
			if teller, ok := c.application(m.App).(app.Teller); ok {
				if r.Learned, err = teller.Learned(m); err != nil {
					return err
				}
			}
			r.print(c.Console)
			return c.Object(r)
		},
	}
}

func reportModel(dir string, m *model.Model) modelReport {
	r := modelReport{
		Model: dir, App: m.App, Settings: orEmpty(m.Settings), Metrics: orEmpty(m.Metrics),
		Versions: orEmpty(m.Versions), Files: m.Files, Tensors: []tensorReport{}, IDs: []idsReport{},
	}
	for _, t := range m.Tensors {
		r.Tensors = append(r.Tensors, tensorReport{t.Name, t.DType(), t.Shape})
	}
	for _, ids := range m.IDs {
		first := ids.Names[:min(idsShown, len(ids.Names))]
		r.IDs = append(r.IDs, idsReport{ids.File, len(ids.Names), first})
	}
	return r
}

// orEmpty makes a nil map an empty JSON object.
func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

func (r modelReport) print(c *screen.Console) {
	c.Printf("%s: %s, every byte as its manifest says\n", r.Model, r.App)
	c.Printf("\ntensors\n")
	for _, t := range r.Tensors {
		c.Printf("  %-16s %s %v\n", t.Name, t.DType, t.Shape)
	}
	printMap(c, "settings", r.Settings, "%s")
	printMap(c, "metrics", r.Metrics, "%.6g")
	if len(r.IDs) > 0 {
		c.Printf("\nids\n")
	}
	for _, ids := range r.IDs {
		c.Printf("  %-16s %s:", ids.File, figures.Grouped(int64(ids.Count)))
		for _, name := range ids.First {
			c.Printf(" %q", name)
		}
		if ids.Count > len(ids.First) {
			c.Printf(" …")
		}
		c.Printf("\n")
	}
	if len(r.Learned) > 0 {
		c.Printf("\nlearned\n  %s\n", strings.Join(r.Learned, "\n  "))
	}
	c.Printf("\nfiles\n")
	for _, f := range r.Files {
		c.Printf("  %-18s %12s bytes  sha256 %s\n", f.Name, figures.Grouped(f.Bytes), f.SHA256)
	}
	printMap(c, "versions", r.Versions, "%s")
}

// printMap is a section of names and values, by name.
func printMap[V any](c *screen.Console, title string, values map[string]V, form string) {
	c.Printf("\n%s\n", title)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c.Printf("  %-16s "+form+"\n", name, values[name])
	}
}
