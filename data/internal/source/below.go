package source

import (
	"os"
	"path/filepath"
	"strings"
)

// folderDepth bounds how deep Below looks for a file.
const folderDepth = 8

// Below returns a pattern for the files of a folder: those with the extension of the first one. They may lie in nested
// folders, as partitions do.
func Below(folder string) string {
	pattern, at := folder, folder
	for range folderDepth {
		entries, _ := os.ReadDir(at) // without entries the pattern is a guess
		next := ""
		for _, e := range entries {
			switch name := e.Name(); {
			// Spark gives such names to files that hold no data
			case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"):
			case !e.IsDir():
				return filepath.Join(pattern, "*"+filepath.Ext(name))
			case next == "":
				next = name
			}
		}
		if next == "" {
			break
		}
		pattern, at = filepath.Join(pattern, "*"), filepath.Join(at, next)
	}
	return filepath.Join(pattern, "*")
}
