// Package splits has the flag --cache and the commands that show and clear the cache of parsed inputs. Its
// content is package data's; package cache decides what may stay.
//
// The caller of a command that reads data declares the Flag, refuses by Check a folder that can be none, and gives the Folder to package data.
//
// The package refuses to look at a cache that is off.
package splits

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/data/cache"
	"bellows/figures"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// off is the --cache that keeps nothing.
const off = "off"

// Flag declares --cache.
func Flag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "cache", "", "cache `FOLDER` of parsed inputs, or off (default: the user's)")
}

// Check refuses a --cache that can be no folder.
func Check(flag string) error {
	if info, err := os.Stat(Folder(flag)); err == nil && !info.IsDir() {
		return line.BadFlag("cache", flag, "it is a file; give a folder, or %s to parse inputs each time", off)
	}
	return nil
}

// Folder returns where parsed inputs are kept with this --cache, "" for nowhere.
func Folder(flag string) string {
	switch flag {
	case "":
		return filepath.Join(Home(), "splits")
	case off:
		return ""
	}
	return flag
}

// Home returns what the programs of a user keep between runs: bellows/ in the user's cache folder,
// or in the temp folder for a user without one.
func Home() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "bellows")
}

// shown is what `cache show --json` prints, and cache clear of what it has removed.
type shown struct {
	Folder    string `json:"folder"`
	Bytes     int64  `json:"bytes"`
	BytesMost int64  `json:"bytes_most"` // what is used longest ago goes beyond it; as the disk is now
	DaysMost  int    `json:"days_most"`  // what is not used for longer goes
	Inputs    []kept `json:"inputs"`
}

type kept struct {
	Files []string  `json:"files"`
	Rows  int       `json:"rows"`
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"`
}

// Command returns cache, with its commands.
func Command(c *screen.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cache",
		Short:   "Show or remove the parsed inputs that are kept for the next run",
		Example: "cache show\ncache clear",
	}
	line.Choose(cmd, "cache command")
	bounds := "At most " + figures.Bytes(cache.BytesMost) + " are kept, and no more than " + diskShare + ". " +
		"The input that was used longest ago is removed first; an input that was not used for " + figures.Plural(daysMost, "day") + " is removed."
	cmd.AddCommand(
		verb(c, "show", "Show the parsed inputs, their size and when they were last used", bounds, cache.List, "holds"),
		verb(c, "clear", "Remove the parsed inputs", "The next run parses its inputs again.", cache.Clear, "held"))
	return cmd
}

// diskShare is the bound by the disk, in words.
const diskShare = "25 % of the free space of its disk, the cache not counted"

const daysMost = int(cache.AgeMost / (24 * time.Hour))

func verb(c *screen.Console, name, short, more string, act func(folder string) ([]cache.Entry, error), says string) *cobra.Command {
	var flag string
	cmd := &cobra.Command{
		Use: name, Short: short, Annotations: line.Details(more),
		Example: "cache " + name + "\ncache " + name + " --json",
		Args:    line.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			folder := Folder(flag)
			if folder == "" {
				return line.BadFlag("cache", flag, "the cache is off")
			}
			list, err := act(folder)
			if err != nil {
				return fault(folder, err)
			}
			r := shown{Folder: folder, BytesMost: cache.Most(folder), DaysMost: daysMost, Inputs: []kept{}}
			for _, k := range list {
				if k.Inputs == nil {
					k.Inputs = []string{}
				}
				r.Bytes += k.Bytes
				r.Inputs = append(r.Inputs, kept{k.Inputs, k.Rows, k.Bytes, k.Used.UTC()})
				c.Printf("%12s  %11s rows  %s  %s\n", figures.Bytes(uint64(k.Bytes)), figures.Grouped(int64(k.Rows)), k.Used.Format(time.DateTime), strings.Join(k.Inputs, " "))
			}
			c.Printf("%s %s %s in %s\n", folder, says, figures.Bytes(uint64(r.Bytes)), figures.Plural(len(list), "input"))
			if r.BytesMost < cache.BytesMost {
				c.Printf("it may hold %s, which is %s\n", figures.Bytes(uint64(r.BytesMost)), diskShare)
			} else {
				c.Printf("it may hold %s\n", figures.Bytes(uint64(r.BytesMost)))
			}
			return c.Object(r)
		},
	}
	Flag(cmd.Flags(), &flag)
	return cmd
}

func fault(folder string, err error) error {
	return &bellows.Error{Kind: bellows.IO, Op: "look at cache", Subject: folder, Err: bellows.Pathless(err), Hint: "give --cache the folder that train was given"}
}
