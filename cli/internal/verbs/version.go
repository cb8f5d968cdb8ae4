package verbs

import (
	"runtime"
	"runtime/debug"

	"bellows/cli/internal/line"
	"bellows/vec"

	"github.com/spf13/cobra"
)

// buildVersion is what `version --json` prints.
type buildVersion struct {
	Bellows  string `json:"bellows"`  // the version of this module, in a program of whatever module
	Revision string `json:"revision"` // of the program in version control, "" when it was built outside
	Modified bool   `json:"modified"` // the tree had changes that are not in the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kernels  string `json:"kernels"` // the kernel set in use
}

func currentVersion() buildVersion {
	v := buildVersion{
		Bellows: "unknown", Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Kernels: vec.Kernels(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "bellows" {
			v.Bellows = m.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// versions is what a model's manifest says of its maker.
func (v buildVersion) versions() map[string]string {
	return map[string]string{"bellows": v.Bellows, "revision": v.Revision, "go": v.Go, "platform": v.Platform, "kernels": v.Kernels}
}

func (c *Tool) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of bellows, of Go, and the kernels in use",
		Example: "version\nversion --json",
		Args:    line.Exactly(),
		RunE:    func(*cobra.Command, []string) error { return c.Version() },
	}
}

// Version prints the version of the program.
func (c *Tool) Version() error {
	v := currentVersion()
	c.Printf("bellows %s\n", v.Bellows)
	if v.Revision != "" {
		changes := ""
		if v.Modified {
			changes = ", with changes"
		}
		c.Printf("revision %s%s\n", v.Revision, changes)
	}
	c.Printf("%s %s\nkernels %s\n", v.Go, v.Platform, v.Kernels)
	return c.Object(v)
}
