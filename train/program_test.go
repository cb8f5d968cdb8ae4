package train

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestAProgramIsItsGoAndRevision: two builds of one revision are one program, also where they were built in different
// folders or with different flags.
func TestAProgramIsItsGoAndRevision(t *testing.T) {
	t.Parallel()
	info := &debug.BuildInfo{Path: "x/cmd", Main: debug.Module{Version: "v2"}, Settings: []debug.BuildSetting{
		{Key: "-trimpath", Value: "true"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "noon"},
		{Key: "vcs.modified", Value: "false"}, {Key: "CGO_ENABLED", Value: "0"},
	}}
	for want, info := range map[string]*debug.BuildInfo{" x/cmd v2 abc false": info, "": nil} {
		var got strings.Builder
		program(&got, info)
		if want = runtime.Version() + want; got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	}
}
