package data

import (
	"context"
	"time"

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

// Files finds the blobs that a URI means to Read, where it begins with one of those schemes. found is false of all other inputs.
func Files(ctx context.Context, uri string, stores source.Schemes) (files []File, found bool, err error) {
	at := source.NewPlaces(ctx, stores)
	if !at.Knows(uri) {
		return nil, false, nil
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
