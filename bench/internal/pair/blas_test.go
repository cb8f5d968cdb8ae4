package pair

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// TestGenericKernelsAreRefused starts children that print the name of a core, as OpenBLAS does when it is loaded.
func TestGenericKernelsAreRefused(t *testing.T) {
	t.Setenv("PAIR_TEST_CHILD", "1")
	generic := "Prescott"
	if !isGeneric(generic) {
		generic = "" // this CPU has nothing better
	}
	for _, c := range []struct {
		core, force, libraries string
		refused, told          string
	}{
		{"SkylakeX", "", "/usr/lib/libopenblas.so.0", "", "kernels of SkylakeX"},
		{generic, "", "/usr/lib/libopenblas.so.0", "--openblas", ""},
		{generic, "HASWELL", "/usr/lib/libopenblas.so.0", "", "forced by --openblas HASWELL"},
		{"", "", "/usr/lib/libblas.so.3", "reference BLAS", ""},
		{"", "", "/usr/lib/libm.so", "", ""},
	} {
		if c.core == "" && strings.Contains(c.libraries, "openblas") {
			continue
		}
		t.Setenv("PAIR_TEST_CORE", c.core)
		told := ""
		child, err := start(&Child{name: "peer", force: c.force, note: func(format string, args ...any) { told += fmt.Sprintf(format, args...) }}, os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		child.libraries = func() string { return c.libraries }
		for range 2 { // the note comes once
			_, err = child.Ask("turn")
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%+v: error %v", c, err)
			}
			if err != nil {
				break
			}
		}
		if (told == "") != (c.told == "") || strings.Count(told, c.told) != 1 && c.told != "" {
			t.Errorf("%+v: told %q", c, told)
		}
		if err := child.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCoresThatAreGeneric(t *testing.T) {
	t.Parallel()
	if !cpu.X86.HasAVX2 {
		return
	}
	for core, want := range map[string]bool{"Prescott": true, "SANDYBRIDGE": true, "Haswell": false, "Zen": false, "Cooperlake": false} {
		if isGeneric(core) != want {
			t.Errorf("%s is generic: %v", core, !want)
		}
	}
	if isGeneric(betterCore()) {
		t.Errorf("%s is generic", betterCore())
	}
}
