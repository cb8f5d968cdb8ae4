package main

import (
	"maps"
	"slices"
	"strconv"

	"bellows/app"
	"bellows/cmd/bellows/internal/figures"
	"bellows/model"

	"github.com/spf13/cobra"
)

func modelCommand(c *console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "model",
		Short:   "Look at a saved model",
		Example: "  bellows model show runs/mf-1",
	}
	choose(cmd, "model command")
	cmd.AddCommand(modelShowCommand(c))
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

func modelShowCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use:   "show MODEL",
		Short: "Print a model's tensors, settings, metrics, ids and checksums",
		Long: "Print a model's tensors, settings, metrics, ids and checksums.\n" +
			"Every byte of the model is checked first; a damaged file is named.",
		Example: "  bellows model show runs/mf-1\n  bellows model show runs/mf-1 --json",
		Args:    exactly("MODEL"),
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := model.Open(args[0])
			if err != nil {
				return err
			}
			r := reportModel(args[0], m)
			if teller, ok := application(m.App).(app.Teller); ok {
				if r.Learned, err = teller.Learned(m); err != nil {
					return err
				}
			}
			r.print(c)
			return c.object(r)
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

func (r modelReport) print(c *console) {
	c.printf("%s: %s, every byte as its manifest says\n", r.Model, r.App)
	section := func(title string) { c.printf("\n%s\n", title) }
	section("tensors")
	for _, t := range r.Tensors {
		c.printf("  %-16s %s %v\n", t.Name, t.DType, t.Shape)
	}
	section("settings")
	for _, k := range slices.Sorted(maps.Keys(r.Settings)) {
		c.printf("  %-16s %s\n", k, r.Settings[k])
	}
	section("metrics")
	for _, k := range slices.Sorted(maps.Keys(r.Metrics)) {
		c.printf("  %-16s %s\n", k, strconv.FormatFloat(r.Metrics[k], 'g', 6, 64))
	}
	if len(r.IDs) > 0 {
		section("ids")
	}
	for _, ids := range r.IDs {
		c.printf("  %-16s %s:", ids.File, figures.Grouped(int64(ids.Count)))
		for _, name := range ids.First {
			c.printf(" %q", name)
		}
		if ids.Count > len(ids.First) {
			c.printf(" …")
		}
		c.printf("\n")
	}
	if len(r.Learned) > 0 {
		section("learned")
	}
	for _, line := range r.Learned {
		c.printf("  %s\n", line)
	}
	section("files")
	for _, f := range r.Files {
		c.printf("  %-18s %12s bytes  sha256 %s\n", f.Name, figures.Grouped(f.Bytes), f.SHA256)
	}
	section("versions")
	for _, k := range slices.Sorted(maps.Keys(r.Versions)) {
		c.printf("  %-16s %s\n", k, r.Versions[k])
	}
}
