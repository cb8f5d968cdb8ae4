package columns

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
)

// A FolderKey is a partition: a column of a table that exists only in the names of folders, as Hive and Spark write it:
// key=value.
type FolderKey struct {
	Key    string
	Values []string // by input; "" if it is missing
}

// hiveMissing is the folder's value for rows without one.
const hiveMissing = "__HIVE_DEFAULT_PARTITION__"

// FolderKeys finds the partitions in the paths of inputs, and sorts them by key.
func FolderKeys(paths []string) []FolderKey {
	values := map[string][]string{}
	for n, path := range paths {
		folders := strings.Split(strings.ReplaceAll(path, `\`, "/"), "/")
		for _, folder := range folders[:len(folders)-1] {
			key, value, found := strings.Cut(folder, "=")
			if key = unescape(key); !found || key == "" {
				continue
			}
			if values[key] == nil {
				values[key] = make([]string, len(paths))
			}
			if value = unescape(value); value != hiveMissing {
				values[key][n] = value
			}
		}
	}
	var list []FolderKey
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, FolderKey{Key: key, Values: values[key]})
	}
	return list
}

// unescape decodes the percent escapes in a part of a folder's name.
func unescape(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		return plain
	}
	return part
}

// varies reports whether the inputs have more than one value.
func (p *FolderKey) varies() bool {
	return slices.ContainsFunc(p.Values, func(v string) bool { return v != p.Values[0] })
}

// LeftOut returns the keys of partitions with several values that are neither columns nor ignored.
func LeftOut(paths []string, columns []Column, ignored []string) (keys []string) {
	for _, part := range FolderKeys(paths) {
		has := func(c Column) bool { return c.Name == part.Key }
		if part.varies() && !slices.Contains(ignored, part.Key) && !slices.ContainsFunc(columns, has) {
			keys = append(keys, part.Key)
		}
	}
	return keys
}

// A Folder is a feature column with the values of a partition.
type Folder struct {
	Place int // among the features
	// Values has a value for each input, as a parser would give it for each row: a number, NaN if it is missing, or the
	// position of a level.
	Values []float32
}

// PutFolders writes the values of an input into rows of the given width.
func PutFolders(folders []Folder, rows []float32, width, input int) {
	for _, f := range folders {
		for i := f.Place; i < len(rows); i += width {
			rows[i] = f.Values[input]
		}
	}
}

// MissingIn returns the number of numbers that each row of an input lacks.
func MissingIn(folders []Folder, input int) (n int) {
	for _, f := range folders {
		if f.Values[input] != f.Values[input] {
			n++
		}
	}
	return n
}

// folderKey returns the partition with a name. It returns nil if there is none, or if a column of the file has the
// name.
func (p *Choice) folderKey(name string) *FolderKey {
	at := slices.IndexFunc(p.want.FolderKeys, func(part FolderKey) bool { return part.Key == name })
	if at < 0 || slices.Contains(p.Names, name) {
		return nil
	}
	return &p.want.FolderKeys[at]
}

// chooseFolders adds the partitions of training data as the last features. A partition becomes a column of numbers if
// all of its values are numbers.
func (p *Choice) chooseFolders() *lines.Fault {
	for _, each := range p.want.FolderKeys {
		part := p.folderKey(each.Key)
		if part == nil || !part.varies() || slices.Contains(p.want.Ignore, part.Key) {
			continue
		}
		c, text := Column{Name: part.Key, Folder: true}, slices.Contains(p.want.Categorical, part.Key)
		var seen Sampled
		for _, value := range part.Values {
			text = text || !p.want.Rule.Number([]byte(value)) && !lines.IsNumber([]byte(value))
			seen.Add(p.want.Rule, []byte(value), nil)
		}
		if !text {
			c.Origin, c.Loss = seen.values.Choose()
		} else {
			for _, value := range part.Values {
				c.Levels = append(c.Levels, string(level(p.want.Rule, value)))
			}
			slices.Sort(c.Levels)
			c.Levels = slices.Compact(c.Levels)
		}
		p.Features = append(p.Features, c)
		if f := p.addFolder(len(p.Features)-1, part); f != nil {
			return f
		}
	}
	return nil
}

// level returns the level of a value, as lines.Levels does.
func level(rule *missing.Rule, value string) string {
	if rule.Text([]byte(value)) && rule.Merged() {
		return ""
	}
	return value
}

// addFolder takes the values of a feature from a partition.
func (p *Choice) addFolder(place int, part *FolderKey) *lines.Fault {
	c, folder := &p.Features[place], Folder{Place: place}
	known := make(map[string]int32, len(c.Levels))
	for i, name := range c.Levels {
		known[name] = int32(i)
	}
	levels := &lines.Levels{Known: known, Buckets: c.Buckets, Missing: p.want.Rule}
	if c.Buckets > 0 {
		levels.Known = nil
	}
	for _, value := range part.Values {
		var v float32
		switch err := error(nil); {
		case c.Text():
			v, _ = levels.Number([]byte(value)) // known or hashed values are always valid
		case p.want.Rule.Number([]byte(value)):
			v = float32(math.NaN())
		default:
			if v, err = lines.Shifted([]byte(value), c.Origin); err != nil {
				return &lines.Fault{What: fmt.Sprintf(
					"the folder %s=%s has no number, and the model was trained on numbers", part.Key, value),
					How: "leave out its files, or write the number into the name of the folder"}
			}
		}
		folder.Values = append(folder.Values, v)
	}
	p.Folders = append(p.Folders, folder)
	return nil
}

// knownFolders takes the values of features that the model has and the file lacks, by found, from partitions. It
// returns the names of features that no partition has.
func (p *Choice) knownFolders(found []bool) (lacking []string, f *lines.Fault) {
	for j, c := range p.want.As.Features {
		if found[j] {
			continue
		}
		part := p.folderKey(c.Name)
		if part == nil || c.Name == "" {
			lacking = append(lacking, c.Name)
			continue
		}
		if f := p.addFolder(j, part); f != nil {
			return nil, f
		}
	}
	return lacking, nil
}

// withoutFolders returns the columns of a model that the file itself must have, when columns are found by position.
func (p *Choice) withoutFolders(list []Column) []Column {
	return slices.DeleteFunc(slices.Clone(list), func(c Column) bool { return c.Folder && p.folderKey(c.Name) != nil })
}
