package run

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"bellows"
	"bellows/model"
	"bellows/run/event"
)

// ownFiles are the names that every run writes, its model's apart.
var ownFiles = []string{recordFile, event.File, metricsFile, figuresFile, imageFile, OutputFile, checkpointFolder}

// mayBeOfModel matches the names that a model's files may have (model.IDs), which are unknown before it is trained.
var mayBeOfModel = regexp.MustCompile(`^(model\.safetensors|manifest\.json|[a-z][a-z0-9_]*\.txt)(\.next)?(\.partial)?$`)

// strangersShown is how many files of others an error names.
const strangersShown = 3

// yield refuses a folder that holds something other than this run: an unfinished run or a model of another command,
// which --fresh discards, or files of unknown origin, next to which --fresh trains if none of them could be in the way.
// r is the folder's record, nil if there is none.
func (f *Folder) yield(r *runFile, fresh bool) error {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return cannotMake(f.Dir, err)
	}
	held := model.FilesIn(f.Dir)
	var strange, blocking []string
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || r != nil && ownOf(name) || slices.Contains(held, name) {
			continue // hidden files do no harm
		}
		strange = append(strange, name)
		if slices.Contains(ownFiles, name) || mayBeOfModel.MatchString(name) {
			blocking = append(blocking, name)
		}
	}
	const another = "give --out another folder"
	switch {
	case len(blocking) > 0:
		return f.refuse(another+", or move them away",
			"it holds files that belong to no run, and that a run may write: %s", firstNames(blocking))
	case fresh:
		return nil
	case r != nil && r.State != done:
		return f.refuse(another+", or add --fresh to give that run up",
			"it holds an unfinished run of another command or of data that has changed since")
	case r != nil || len(held) > 0:
		return f.refuse(another+", or add --fresh to replace it",
			"it holds the model of another command or of data that has changed since")
	case len(strange) > 0:
		return f.refuse(another+", or add --fresh to train next to them", "it holds files that belong to no run: %s", firstNames(strange))
	}
	return nil
}

// ownOf reports whether a run writes a file of that name, or leaves it when it is cut short.
func ownOf(name string) bool {
	return name == PageFile || slices.Contains(ownFiles, name) || strings.HasSuffix(name, ".next") && mayBeOfModel.MatchString(name)
}

func (f *Folder) refuse(hint, format string, args ...any) error {
	return &bellows.Error{Kind: bellows.Refused, Op: "use run folder", Subject: f.Dir, Err: fmt.Errorf(format, args...), Hint: hint}
}

// firstNames names the first of a list, and counts the rest.
func firstNames(names []string) string {
	if len(names) <= strangersShown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:strangersShown], ", "), len(names)-strangersShown)
}
