package machine

import (
	"runtime"
	"runtime/debug"

	"bellows/vec"
)

// A Build is the version of a program, as `version --json` prints it.
type Build struct {
	Bellows  string `json:"bellows"`  // the version of this module, in a program of whatever module
	Revision string `json:"revision"` // of the program in version control, "" when it was built outside
	Modified bool   `json:"modified"` // the tree had changes that are not in the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Kernels  string `json:"kernels"` // the kernel set in use
}

// CurrentBuild returns the version of the running program.
func CurrentBuild() Build {
	v := Build{
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

// Manifest returns the versions that the manifest of a model names.
func (v Build) Manifest() map[string]string {
	return map[string]string{"bellows": v.Bellows, "revision": v.Revision, "go": v.Go, "platform": v.Platform, "kernels": v.Kernels}
}
