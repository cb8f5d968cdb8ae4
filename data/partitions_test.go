package data

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// partitioned writes files of one text to folders of partitions and returns a pattern for all of them.
func partitioned(t *testing.T, name, text string, folders ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, folder, name), []byte(text))
	}
	return filepath.Join(dir, "*", "*", name)
}

// TestPartitionsAreColumns checks that keys of folders become columns of the rows of their files, and that other files
// are read by them.
func TestPartitionsAreColumns(t *testing.T) {
	for name, text := range map[string]string{"a.csv": "y,x\n1,2\n0,3\n", "a.jsonl": `{"y":1,"x":2}` + "\n" +
		`{"y":0,"x":3}` + "\n"} {
		pattern := partitioned(t, name, text, "year=2023/part=0", "year=2023/part=1", "year=2024/part=b%20c",
			"year=2024/part=__HIVE_DEFAULT_PARTITION__")
		cache := t.TempDir()
		for range 2 { // the second time from the cache
			set, err := Read(t.Context(), []string{pattern}, Examples, Options{Label: "y", Cache: cache})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(set.Examples.FeatureNames,
				" "); got != "x part=(missing) part=0 part=1 part=b c year" {
				t.Fatalf("%s: features %s", name, got)
			}
			dense := make([]float32, 6)
			var rows []string
			for r := range set.Rows() {
				clear(dense)
				for at := set.Examples.Offset[r]; at < set.Examples.Offset[r+1]; at++ {
					dense[set.Examples.Index[at]] = set.Examples.Value[at]
				}
				rows = append(rows, fmt.Sprint(dense))
			}
			slices.Sort(rows)
			if want := "[2 0 0 0 1 2024] [2 0 0 1 0 2023] [2 0 1 0 0 2023] [2 1 0 0 0 2024] [3 0 0 0 1 2024] [3 0 " +
				"0 1 0 2023] [3 0 1 0 0 2023] [3 1 0 0 0 2024]"; strings.Join(rows, " ") != want {
				t.Errorf("%s: rows %v, want %s", name, rows, want)
			}
			if w := set.Detected.Warnings(); len(w) > 0 {
				t.Errorf("%s: warnings %q", name, w)
			}
			set.FillBy(func(int) bool { return true })
			checkPartitionsOfAModel(t, name, text, Options{}.ForTest(set))
			set.Close()
		}
	}
}

// checkPartitionsOfAModel reads other inputs by the columns of a model that was trained on x, part and year.
func checkPartitionsOfAModel(t *testing.T, name, text string, model Options) {
	t.Helper()
	one := partitioned(t, name, text, "part=1/year=2024")
	var got string
	take := func(b *Block) error {
		got += fmt.Sprint(b.Set.Examples.Index, b.Set.Examples.Value)
		return nil
	}
	if _, err := Stream(context.Background(), []string{one}, Examples, model, take); err != nil ||
		got != "[0 3 5 0 3 5] [2 1 2024 3 1 2024]" {
		t.Errorf("%s: streamed %s, %v", name, got, err)
	}
	file := "w.csv" // the file has the columns itself
	inFile := "part,year,x,y\n1,2024,2,1\nz,2024,3,0\n"
	set, err := readNamed(t, file, inFile, Examples, model)
	if err != nil || fmt.Sprint(set.Examples.Value) != "[2 1 2024 3 2024]" || set.Detected.Unknown != 1 {
		t.Errorf("%s: columns in the file: %v, %v", name, set, err)
	}
	if _, err = readNamed(t, "v.csv", "y,x\n1,2\n", Examples, model); err == nil ||
		!strings.Contains(err.Error(), "part") {
		t.Errorf("%s: without the columns: %v", name, err)
	}
	if _, err = Read(t.Context(), []string{partitioned(t, name, text, "part=1/year=soon")}, Examples,
		model); err == nil || !strings.Contains(err.Error(), "year=soon") {
		t.Errorf("%s: a folder without a number: %v", name, err)
	}
}

// TestPartitionsByOptions checks what options make of partitions: ignored, text, and below a column of the file of the
// same name.
func TestPartitionsByOptions(t *testing.T) {
	const text = "y,x\n1,2\n0,3\n"
	folders := []string{"year=2023/part=0", "year=2023/part=1"}
	for want, opt := range map[string]Options{"x part": {}, "x": {Ignore: []string{"part"}},
		"x part=0 part=1": {Categorical: []string{"part"}}} {
		opt.Label = "y"
		set, err := Read(t.Context(), []string{partitioned(t, "a.csv", text, folders...)}, Examples, opt)
		if err != nil || strings.Join(set.Examples.FeatureNames, " ") != want || len(set.Detected.Warnings()) > 0 {
			t.Errorf("want %s: %v, %v", want, set, err)
		}
	}
	set, err := Read(t.Context(), []string{partitioned(t, "a.csv", "y,part\n1,7\n0,8\n", folders...)}, Examples,
		Options{Label: "y"})
	if err != nil || fmt.Sprint(set.Examples.Dense) != "[7 8 7 8]" {
		t.Errorf("a column of the file: %v, %v", set, err)
	}
	set = mustRead(t, writeFile(t, filepath.Join(t.TempDir(), "a.csv"), []byte(text)), Examples, Options{Label: "y"})
	further := Options{}.ForTest(set)
	further.Grow = true
	set, err = Read(t.Context(), []string{partitioned(t, "a.csv", text, folders...)}, Examples, further)
	if err != nil || !strings.Contains(strings.Join(set.Detected.Warnings(), "\n"),
		"column part is only in the names of folders") {
		t.Errorf("data to train a model further: %v, %v", set, err)
	}
	set, err = Read(t.Context(), []string{partitioned(t, "a.svm", "1 1:2\n0 1:3\n", folders...)}, Examples, Options{})
	if err != nil || !strings.Contains(strings.Join(set.Detected.Warnings(), "\n"),
		"column part is only in the names of folders") {
		t.Errorf("sparse rows: %v, %v", set, err)
	}
}

// TestFolderOfPartitions checks that the files which the error of a folder names can be read.
func TestFolderOfPartitions(t *testing.T) {
	pattern := partitioned(t, "a.csv", "y,x\n1,2\n0,3\n", "year=2023/part=0", "year=2023/part=1")
	dir := filepath.Dir(filepath.Dir(filepath.Dir(pattern)))
	writeFile(t, filepath.Join(dir, "_SUCCESS"), nil)
	_, err := Read(t.Context(), []string{dir}, Examples, Options{Label: "y"})
	var folder *Error
	if !errors.As(err, &folder) {
		t.Fatal(err)
	}
	_, advice, found := strings.Cut(folder.How, "for example ")
	if advice, _, _ = strings.Cut(advice, ";"); !found || advice != filepath.Join(dir, "*", "*", "*.csv") {
		t.Fatalf("%v: advice %q", err, advice)
	}
	if set, err := Read(t.Context(), []string{advice}, Examples, Options{Label: "y"}); err != nil || set.Rows() != 4 {
		t.Errorf("%v", err)
	}
}
