package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellows"
)

// TestAPlaceOfAnotherMachineIsNone: a process with a place's proof does not write to another place of that name. It
// reports that if the command names the place, or if it should read there.
func TestAPlaceOfAnotherMachineIsNone(t *testing.T) {
	dir, place := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "place")
	for _, named := range []bool{false, true} {
		req := Request{Config: Config{App: "mf"}, Out: dir, Fresh: true}
		if named {
			req.Checkpoint = place
		}
		f, err := Claim(req)
		if err != nil {
			t.Fatal(err)
		}
		refer := func() (bool, error) {
			t.Helper()
			reference, _, err := f.Reference(true)
			if err != nil {
				t.Fatal(err)
			}
			c, _, err := Refer(context.Background(), reference, nil)
			return c != nil, err
		}
		if keeps, err := refer(); !keeps || err != nil {
			t.Errorf("named %v, on this machine: %v, %v", named, keeps, err)
		}
		if err := f.Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if keeps, err := refer(); !keeps || err != nil {
			t.Errorf("named %v, at the place: %v, %v", named, keeps, err)
		}
		if err := f.Begin(); err != nil { // which clears what was there
			t.Fatal(err)
		}
		if keeps, err := refer(); !keeps || err != nil {
			t.Errorf("named %v, after the beginning: %v, %v", named, keeps, err)
		}
		if err := os.RemoveAll(filepath.Join(f.place(), "proof")); err != nil {
			t.Fatal(err)
		}
		keeps, err := refer()
		if keeps || (err != nil) != named {
			t.Errorf("named %v, elsewhere: %v, %v", named, keeps, err)
		}
		if named && (bellows.KindOf(err) != bellows.Config || !strings.HasSuffix(err.Error(), "this machine does not have the same place of that name as node 0; give --checkpoint a place that all machines of the job reach, such as a folder that they share")) {
			t.Error(err)
		}
		if err := f.Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := f.Done(Progress{}, End{}); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(f.place()); !os.IsNotExist(err) {
			t.Errorf("%d are left, %v", len(left), err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
