package source

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// PartitionKeys returns the keys of folders that are called key=value and have more than one value among the inputs, sorted, as Hive and Spark
// write the columns by which a table is divided.
func PartitionKeys(ins []Input) []string {
	values := map[string]map[string]bool{}
	for _, in := range ins {
		folders := strings.Split(strings.ReplaceAll(in.Path, `\`, "/"), "/")
		for _, folder := range folders[:len(folders)-1] {
			key, value, found := strings.Cut(folder, "=")
			if plain, err := url.PathUnescape(key); err == nil {
				key = plain
			}
			if !found || key == "" {
				continue
			}
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			values[key][value] = true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(key string) bool { return len(values[key]) < 2 })
}
