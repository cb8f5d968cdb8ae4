package verbs

import (
	"fmt"
	"runtime"

	"bellows/cli/internal/line"
	"bellows/figures"
	"bellows/node/machine"

	"github.com/klauspost/cpuid/v2"
	"github.com/spf13/cobra"
)

// benchReport is what `bench --json` prints.
type benchReport struct {
	Bench   string           `json:"bench"`
	Machine benchMachine     `json:"machine"`
	Figures []machine.Figure `json:"figures"`
}

type benchMachine struct {
	CPU      string `json:"cpu"`
	CPUs     int    `json:"cpus"`
	Kernels  string `json:"kernels"`
	Platform string `json:"platform"`
	Go       string `json:"go"`
}

func thisMachine() benchMachine {
	v := machine.CurrentBuild()
	return benchMachine{cpuid.CPU.BrandName, runtime.NumCPU(), v.Kernels, v.Platform, v.Go}
}

func (c *Tool) benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:         "bench",
		Short:       "Measure this machine for a few seconds on generated data",
		Annotations: line.Details("A figure is true for this machine at this moment; compare only figures of one run."),
		Example:     "bench kernels\nbench " + c.sample(0).Name + " --json",
	}
	line.Choose(cmd, "bench")
	cmd.AddCommand(&cobra.Command{
		Use:     "kernels",
		Short:   "Measure the kernels on one thread: bytes, elements, operations a second",
		Example: "bench kernels\nbench kernels --kernels go",
		Args:    line.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			return c.showBench(benchReport{"kernels", thisMachine(), machine.Kernels()})
		},
	})
	for _, a := range c.apps {
		d := a.Describe()
		cmd.AddCommand(&cobra.Command{
			Use:     d.Name,
			Short:   fmt.Sprintf("Measure %s: %s a second, by compute slots", d.Title, d.Unit),
			Example: "bench " + d.Name,
			Args:    line.Exactly(),
			RunE: func(cmd *cobra.Command, _ []string) error {
				measured, err := machine.Application(cmd.Context(), a)
				if err != nil {
					return err
				}
				return c.showBench(benchReport{d.Name, thisMachine(), measured})
			},
		})
	}
	return cmd
}

func (c *Tool) showBench(r benchReport) error {
	c.Printf("%s, %s, kernels %s, %s, %s\n", r.Machine.CPU, figures.Plural(r.Machine.CPUs, "CPU"), r.Machine.Kernels, r.Machine.Platform, r.Machine.Go)
	for _, f := range r.Figures {
		c.Printf("%-24s %10.2f %s\n", f.Name, f.Value, f.Unit)
	}
	return c.Object(r)
}
