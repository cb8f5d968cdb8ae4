package layout

import (
	"strings"
	"testing"

	"bellows/data/internal/source"
)

func TestFormatOfDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Format{
		"12\n3\n4\n1 1 1\n": "docword", "12 apes\n": "text", "hello\n": "text", "\nx y\n": "text", "route 66\n": "text",
		"1 2 3\n": "", "1\t2\t3.5\n": "", "3 1:0.5 7:2\n": "", "-1 4:1\n": "", "1::2::3\n": "", "1,2,3\n": "",
		"0.5;7\n": "", "2 0:1 4:2\n": "ldac", "1 0:1 4:2\n": "",
	} {
		d := &Detector{Kind: Documents, Opt: &Options{}, In: source.Input{Name: "x"}}
		line, _, _ := strings.Cut(text, "\n")
		p, f := d.Documents([]byte(line))
		if want == "" && f == nil || want != "" && (f != nil || p.Format != want) {
			t.Errorf("%q: %+v, %+v; want %q", text, p, f, want)
		}
	}
}
