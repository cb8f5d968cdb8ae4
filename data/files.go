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

// A File is a file or a blob of an input, in its current state.
type File struct {
	Name    string
	Bytes   int64
	Version string // of a blob: other bytes have another version
}

// IsBlob reports whether a URI begins with one of the schemes.
func IsBlob(uri string, stores source.Schemes) bool {
	return source.NewPlaces(context.Background(), stores).Knows(uri)
}

// Files returns the blobs that a URI stands for, if it begins with one of the schemes. For a folder of images it
// returns one file, whose version identifies the images in the folder. For all other inputs found is false.
func Files(ctx context.Context, uri string, stores source.Schemes) (files []File, found bool, err error) {
	at := source.NewPlaces(ctx, stores)
	if !at.Knows(uri) {
		return folderOf(ctx, uri)
	}
	ins, err := at.Expand([]string{uri})
	for _, in := range ins {
		f := File{in.Name, in.Size, in.Version}
		if f.Version == source.Unversioned {
			// without a version, no two looks are known to be the same
			f.Version = time.Now().UTC().Format(time.RFC3339Nano)
		}
		files = append(files, f)
	}
	return files, true, err
}

// folderOf returns the single File of a folder of images. found is false if the path is no folder.
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

// IsFolder reports whether an input is a folder.
func IsFolder(path string) bool {
	info, err := os.Stat(strings.TrimPrefix(path, "file://"))
	return err == nil && info.IsDir()
}
