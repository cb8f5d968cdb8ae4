package data

import (
	"context"
	"math"
	"os"
	"strings"
	"time"

	"bellows/data/internal/images"
	"bellows/data/internal/source"
)

// File is a file or a blob of an input, as it is now.
type File struct {
	Name    string
	Bytes   int64
	Version string // of a blob: another one has other bytes
}

// IsBlob says whether an input begins with one of those schemes.
func IsBlob(uri string, stores source.Schemes) bool {
	return source.NewPlaces(context.Background(), stores).Knows(uri)
}

// Files finds the blobs that a URI means to Read, where it begins with one of those schemes; or of a folder of images one file, whose version says which images
// there are. found is false of all other inputs.
func Files(ctx context.Context, uri string, stores source.Schemes) (files []File, found bool, err error) {
	at := source.NewPlaces(ctx, stores)
	if !at.Knows(uri) {
		return folderOf(ctx, uri)
	}
	ins, err := at.Expand([]string{uri})
	for _, in := range ins {
		f := File{in.Name, in.Size, in.Version}
		if f.Version == source.Unversioned {
			f.Version = time.Now().UTC().Format(time.RFC3339Nano) // nobody can say that it is the same
		}
		files = append(files, f)
	}
	return files, true, err
}

// folderOf is Files of what may be a folder of images.
func folderOf(ctx context.Context, path string) (files []File, found bool, err error) {
	path = strings.TrimPrefix(path, "file://")
	if !IsFolder(path) {
		return nil, false, nil
	}
	f, err := images.Find(ctx, source.Input{Name: path, Path: path, Folder: true}, false, math.MaxInt64)
	if err != nil {
		return nil, true, err
	}
	return []File{{path, f.Bytes, f.Version()}}, true, nil
}

// IsFolder says whether an input is a folder.
func IsFolder(path string) bool {
	info, err := os.Stat(strings.TrimPrefix(path, "file://"))
	return err == nil && info.IsDir()
}
