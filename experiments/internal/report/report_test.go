package report

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellows/chart"
)

// TestIntervalsAreThoseOfTables compares with the published order statistics for the median at 95 %.
func TestIntervalsAreThoseOfTables(t *testing.T) {
	t.Parallel()
	for n, want := range map[int][2]float64{1: {1, 1}, 5: {1, 5}, 6: {1, 6}, 8: {1, 8}, 9: {2, 8}, 15: {4, 12}, 20: {6, 15}, 50: {18, 33}} {
		figures := make([]float64, n)
		for i := range figures {
			figures[i] = float64(n - i)
		}
		i := IntervalOf(figures)
		if i.Low != want[0] || i.High != want[1] || i.Median != float64(n+1)/2 || i.Count != n {
			t.Errorf("of 1 to %d: %+v, want %v", n, i, want)
		}
	}
}

// TestFilesAreWritten reads all of them again, and wants a missing folder to be named.
func TestFilesAreWritten(t *testing.T) {
	t.Parallel()
	r, folder := &Run{Out: io.Discard, Quick: true}, t.TempDir()
	o := &Outcome{Figures: []int{7}, Pictures: []Picture{
		{"", &chart.Lines{Title: "a title", Lines: []chart.Line{{Name: "one", Points: []chart.Point{{X: 1, Y: 2}}}}}}, {"other", &chart.Lines{Title: "another"}}}}
	if err := r.Write("name", folder, o); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Experiment string
		Quick      bool
		Figures    []int
	}
	text, err := os.ReadFile(filepath.Join(folder, "name.json"))
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil || back.Experiment != "name" || !back.Quick || len(back.Figures) != 1 || back.Figures[0] != 7 {
		t.Errorf("%s is read as %+v, %v", text, back, err)
	}
	for file, title := range map[string]string{"name.svg": "a title", "name-other.svg": "another"} {
		if picture, err := os.ReadFile(filepath.Join(folder, file)); err != nil || !strings.Contains(string(picture), title) {
			t.Errorf("the picture %s is %q, %v", file, picture, err)
		}
	}
	if err := r.Write("name", filepath.Join(folder, "none"), o); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("writing to a folder that is not there: %v", err)
	}
}
