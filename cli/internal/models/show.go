package models

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/figures"
	"bellows/model"

	"github.com/spf13/cobra"
)

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
	Weights  *weightsReport     `json:"weights,omitempty"` // of linear and mlr
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

// showing is one call of the command.
type showing struct {
	*tool
	top        int
	vocabulary string
}

func (t *tool) showCommand() *cobra.Command {
	s := &showing{tool: t}
	cmd := &cobra.Command{
		Use:   "show MODEL",
		Short: "Show a model's tensors, settings, metrics, ids, checksums and largest weights",
		Annotations: line.Details("Models of linear and mlr also show the largest weights, with the names of their features. Every byte of the model is " +
			"checked first; a damaged file is named.\n\n" +
			"If the names of features were hashed, --vocabulary gives a file of names: Vowpal Wabbit text such as the training data, or one name a " +
			"line, as name or namespace^name. Each weight then lists every name in the file that has its hash; several names can share one. A " +
			"combination of two names (--quadratic or --ngrams) is found if a row of the file has both."),
		Example: "model show " + t.sample + "\nmodel show " + t.sample + " --json",
		Args:    line.Exactly("MODEL"),
		RunE:    func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().IntVar(&s.top, "top", 10, "`NUMBER` of weights to print for each class")
	cmd.Flags().StringVar(&s.vocabulary, "vocabulary", "", "`FILE` of feature names, for a model of hashed names")
	return cmd
}

func (s *showing) run(ctx context.Context, dir string) error {
	if s.top < 0 || s.top > topMost {
		return line.BadFlag("top", strconv.Itoa(s.top), "it must be a whole number from 0 to %d", topMost)
	}
	m, a, err := s.open(dir)
	if err != nil {
		return err
	}
	r := reportModel(dir, m)
	if teller, ok := a.(app.Teller); ok {
		if r.Learned, err = teller.Learned(m); err != nil {
			return err
		}
	}
	if r.Weights, err = s.weights(ctx, dir, m); err != nil {
		return err
	}
	r.print(s.Console)
	return s.Object(r)
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
	if r.Weights != nil {
		r.Weights.print(c)
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
