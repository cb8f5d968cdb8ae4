package frames

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// limitsOfTests are wide enough for the files of tests.
var limitsOfTests = Limits{Rows: 1 << 20, Columns: 1000, Bytes: 16 << 20}

// written returns the columns of a file and its rows as lines of CSV.
func written(content []byte, limits Limits) (text []byte, err error) {
	f, err := OpenParquet(bytes.NewReader(content), int64(len(content)), limits)
	if err != nil {
		return nil, err
	}
	var readable []int
	for i, c := range f.Columns() {
		text = fmt.Appendf(text, "%s: %s\n", c.Name, c.Odd)
		if c.Odd == "" {
			readable = append(readable, i)
		}
	}
	for {
		chunk, err := f.Next()
		if err == io.EOF {
			return text, nil
		}
		for vs, err := range chunk.Read(readable) {
			if err != nil {
				return text, err
			}
			text = appendCSV(text, vs, readable, len(f.Columns()), RowsOf(vs), 1<<30)
		}
		chunk.Close()
	}
}

func fixtures(t testing.TB) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(paths) < 12 {
		t.Fatal(paths, err)
	}
	return paths
}

// TestParquetOfAnotherLibrary reads files that arrow-go has written, of each type, encoding, codec and version of
// pages. All hold the same rows, which
// arrow-go's reader gave for columns.golden.
func TestParquetOfAnotherLibrary(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/columns.golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range fixtures(t) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := written(content, limitsOfTests)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		lines, wanted := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
		if len(lines) != len(wanted) {
			t.Errorf("%s: %d lines, want %d", path, len(lines), len(wanted))
			continue
		}
		for i, line := range lines {
			if line != wanted[i] {
				t.Errorf("%s:%d: %s, want %s", path, i+1, line, wanted[i])
				break
			}
		}
	}
}

// TestDamagedParquetTakesLittle overwrites places of files with bytes that make numbers large or small: reading takes
// little memory, and ends in an error
// or in rows.
func TestDamagedParquetTakesLittle(t *testing.T) {
	const most = 48 << 20
	var before, after runtime.MemStats
	limits := Limits{Rows: 1 << 16, Columns: 100, Bytes: 2 << 20}
	damage := [][]byte{{0xff, 0xff, 0xff, 0xff, 0x0f}, {0xff}, {0}}
	for k, path := range fixtures(t) {
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := 4 + k; at < len(good); at += 1201 {
			bad := bytes.Clone(good)
			copy(bad[at:], damage[at%len(damage)])
			runtime.ReadMemStats(&before)
			_, err := written(bad, limits)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("%s with another byte %d takes %d MiB: %v", path, at, took>>20, err)
			}
			if e := runtime.Error(nil); errors.As(err, &e) {
				t.Errorf("%s with another byte %d: %v", path, at, err)
			}
		}
	}
}

// TestParquetClaims checks that a claim of more memory than a file may need is refused before the memory is taken.
func TestParquetClaims(t *testing.T) {
	t.Parallel()
	footer := func(b ...byte) []byte {
		content := append([]byte("PAR1"), b...)
		return append(append(content, byte(len(b)), 0, 0, 0), "PAR1"...)
	}
	deep := bytes.Repeat([]byte{0x1c}, 200) // structs in structs
	for name, c := range map[string]struct {
		content []byte
		want    string
	}{
		"a list of nodes":     {footer(0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07), "unexpected EOF"},
		"a length":            {footer(0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), "it claims a length of"},
		"nested structs":      {footer(deep...), "nested too deeply"},
		"an encrypted footer": {append(footer(0)[:9], "PARE"...), "it is encrypted"},
		"no mark":             {append(footer(0)[:9], "PARX"...), "the mark of its end is missing"},
		"a longer footer":     {append([]byte("PAR1"), 0xff, 0, 0, 0, 'P', 'A', 'R', '1'), "smaller than indicated"},
	} {
		if _, err := written(c.content, limitsOfTests); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}
}
