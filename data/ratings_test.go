package data

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// TestColumnsKnowTheirSize: of a file whose lines are alike, room is made once, and little more than is needed.
func TestColumnsKnowTheirSize(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	const rows = 50_000
	for i := range rows {
		fmt.Fprintf(&text, "%04d\t%03d\t%d\n", i%5000, i%700, i%5)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text.String())); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"a.tsv": text.String(), "a.tsv.gz": packed.String()} {
		path := writeFile(t, filepath.Join(t.TempDir(), name), []byte(content))
		set, err := Read(t.Context(), []string{path}, Ratings, Options{Workers: 3, blockBytes: 4096})
		if err != nil {
			t.Fatal(err)
		}
		r := set.Ratings
		// what is packed is known less well
		if len(r.Rating) != rows || cap(r.Rating) > rows*3/2 && packed.String() != content {
			t.Errorf("%s: %d rows in columns with room for %d", name, len(r.Rating), cap(r.Rating))
		}
		for i, v := range r.Rating {
			if v != float32(i%5) || r.Users[r.User[i]] != fmt.Sprintf("%04d", i%5000) ||
				r.Items[r.Item[i]] != fmt.Sprintf("%03d", i%700) {
				t.Fatalf("%s: row %d is %s, %s, %v", name, i, r.Users[r.User[i]], r.Items[r.Item[i]], v)
			}
		}
	}
}
