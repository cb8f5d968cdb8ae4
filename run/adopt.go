package run

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"bellows"
	"bellows/port/blob"
)

// If a run's folder is lost, the same command finds its checkpoints at the place that it names, by the claims there (claim.go). It resumes them if the process of that run has certainly ended
// (owner.ended) and its folder does not exist. Otherwise it starts over, and states why and how to resume them: by naming the folder of those checkpoints.

// find looks for cuts of the same job at a place where a run without any would begin to keep its own: "" and why each that is there is left alone, or where they are. The newest life counts.
func (f *Folder) find(ctx context.Context, asked, app string) (where string, err error) {
	s, err := openStore(ctx, asked)
	if err != nil {
		return "", err
	}
	o, err := ownerAt(ctx, s)
	if err != nil {
		return "", err
	}
	if o != nil && o.Job == hex.EncodeToString(f.id[:]) { // it was named itself
		if !o.ended() && o.here() {
			return "", bellows.Errorf(bellows.Refused, "keep checkpoints at", blob.Shown(asked), "process %d trains the run in %s, and keeps its own there", o.Process, o.Folder)
		}
		_, any, err := f.cutsAt(ctx, asked)
		if err != nil || any {
			return asked, err
		}
	}
	newest := bellows.Era(0)
	for info, err := range s.List(ctx, app+"-") {
		if err != nil {
			return "", err
		}
		name, is := strings.CutSuffix(info.Name, "/"+ownerBlob)
		if !is || strings.Contains(name, "/") {
			continue
		}
		at := beneath(asked, name)
		era, any, why, err := f.mayAdopt(ctx, at)
		switch {
		case err != nil:
			return "", err
		case why != "":
			f.Left = append(f.Left, why)
		case any && (where == "" || era > newest):
			where, newest = at, era
		}
	}
	return where, nil
}

// cutsAt returns the newest life that has a cut at a place; any: one has.
func (f *Folder) cutsAt(ctx context.Context, place string) (era bellows.Era, any bool, err error) {
	g := &Folder{id: f.id, tables: f.tables, record: runFile{Checkpoint: place}}
	if err := g.openCuts(ctx); err != nil {
		return 0, false, err
	}
	return g.cuts.Era(ctx)
}

// mayAdopt says whether there are cuts of this job at a place, and why they are left alone all the same; "": they need not be.
func (f *Folder) mayAdopt(ctx context.Context, at string) (era bellows.Era, any bool, why string, err error) {
	s, err := openStore(ctx, at)
	if err != nil {
		return 0, false, "", err
	}
	o, err := ownerAt(ctx, s)
	if err != nil || o == nil || o.Job != hex.EncodeToString(f.id[:]) {
		return 0, false, "", err
	}
	if era, any, err = f.cutsAt(ctx, at); err != nil || !any {
		return 0, false, "", err
	}
	const anew = "the checkpoint of the same job at %s is left alone, and this run begins anew: "
	r := readRecord(o.Folder)
	theirs := false
	if r != nil && r.Checkpoint != "" {
		t, err := openStore(ctx, r.Checkpoint)
		theirs = err == nil && t.URI("") == s.URI("") // by whatever name
	}
	switch shown := blob.Shown(at); {
	case !o.here():
		why = fmt.Sprintf(anew+"it is of the run in %s on %s, which may still be running; if it is not, resume it here with --checkpoint %s", shown, o.Folder, o.where(), shown)
	case theirs:
		why = fmt.Sprintf(anew+"it belongs to the run in %s; --out %s resumes it", shown, o.Folder, o.Folder)
	case !o.ended():
		why = fmt.Sprintf(anew+"process %d, which trains the run that was in %s, has not ended", shown, o.Process, o.Folder)
	}
	return era, any, why, nil
}
