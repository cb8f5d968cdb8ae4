package predictions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellows"
)

// TestAFileIsWhole: it has its name when all of it is there, and before that another.
func TestAFileIsWhole(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, _ := os.ReadFile(name)
		return string(text)
	}
	for _, ends := range []bool{false, true} {
		o, err := Create(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.Kept() != "" {
			t.Error("nothing was written, and is kept")
		}
		if _, err := o.Write([]byte("1\n2\n")); err != nil {
			t.Fatal(err)
		}
		if read(name) != "before" {
			t.Errorf("the file is %q while it is written", read(name))
		}
		if ends {
			if err := o.Done(); err != nil {
				t.Fatal(err)
			}
			o.Close()
			break
		}
		kept := o.Kept()
		o.Close()
		if read(kept) != "1\n2\n" || read(name) != "before" {
			t.Errorf("%s is %q, the file %q", kept, read(kept), read(name))
		}
	}
	if _, err := os.Stat(name + partial); read(name) != "1\n2\n" || err == nil {
		t.Errorf("the file is %q; its other name is there: %v", read(name), err == nil)
	}
	o, err := Create(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	if _, err := os.Stat(name + partial); err == nil {
		t.Error("an empty part stays")
	}
}

func TestOutletsThatCannotBe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := filepath.Join(dir, "in.txt")
	if err := os.WriteFile(in, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind bellows.Kind
		says string
	}{
		dir:                               {bellows.CannotWrite, "it is a folder"},
		in:                                {bellows.Usage, "it is what is to be read"},
		filepath.Join(dir, "no", "where"): {bellows.CannotWrite, "no such file"},
	} {
		if _, err := Create(name, []string{in}); err == nil || bellows.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
