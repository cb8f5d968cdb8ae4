package verbs

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/figures"
	"bellows/cli/internal/line"
	"bellows/data/cache"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// cacheOff is the --cache that keeps nothing.
const cacheOff = "off"

func cacheFlag(f *pflag.FlagSet, to *string) {
	f.StringVar(to, "cache", "", "`folder` for parsed inputs, or off (default the user's cache folder)")
}

// splitsFolder is where parsed inputs are kept, "" for nowhere.
func (o *trainOptions) splitsFolder() string { return splitsFolder(o.cache) }

// checkCache refuses a --cache that can be no folder.
func (o *trainOptions) checkCache() error {
	if info, err := os.Stat(o.splitsFolder()); err == nil && !info.IsDir() {
		return line.BadFlag("cache", o.cache, "it is a file; give a folder, or %s to parse inputs each time", cacheOff)
	}
	return nil
}

// splitsFolder is the folder that --cache means, "" for none.
func splitsFolder(flag string) string {
	switch flag {
	case "":
		return filepath.Join(cacheFolder(), "splits")
	case cacheOff:
		return ""
	}
	return flag
}

// cacheFolder is what the programs of a user keep between runs: bellows/ in the user's cache folder,
// or in the temp folder for a user without one.
func cacheFolder() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "bellows")
}

// cacheReport is what `cache show --json` prints, and cache clear of what it has removed.
type cacheReport struct {
	Folder    string         `json:"folder"`
	Bytes     int64          `json:"bytes"`
	BytesMost int64          `json:"bytes_most"` // what is used longest ago goes beyond it; as the disk is now
	DaysMost  int            `json:"days_most"`  // what is not used for longer goes
	Inputs    []cachedReport `json:"inputs"`
}

type cachedReport struct {
	Files []string  `json:"files"`
	Rows  int       `json:"rows"`
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"`
}

func (c *Tool) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cache",
		Short:   "Look at the parsed inputs that are kept for the next run, or remove them",
		Example: "cache show\ncache clear",
	}
	line.Choose(cmd, "cache command")
	bounds := "At most " + figures.Bytes(cache.BytesMost) + " are kept, and no more than " + diskShare + ":\n" +
		"what was used longest ago goes first, and what was not used for " + figures.Plural(daysMost, "day") + "."
	cmd.AddCommand(
		c.cacheVerb("show", "Print what is kept, its size and when it was last used", bounds, cache.List, "holds"),
		c.cacheVerb("clear", "Remove what is kept", "Nothing is lost: the next run parses its inputs again.", cache.Clear, "held"))
	return cmd
}

// diskShare is the bound by the disk, in words.
const diskShare = "a quarter of what its disk would have free without it"

const daysMost = int(cache.AgeMost / (24 * time.Hour))

func (c *Tool) cacheVerb(name, short, more string, act func(folder string) ([]cache.Entry, error), says string) *cobra.Command {
	var flag string
	cmd := &cobra.Command{
		Use: name, Short: short, Long: short + ".\n" + more,
		Example: "cache " + name + "\ncache " + name + " --json",
		Args:    line.Exactly(),
		RunE: func(*cobra.Command, []string) error {
			folder := splitsFolder(flag)
			if folder == "" {
				return line.BadFlag("cache", flag, "then there is none to look at")
			}
			list, err := act(folder)
			if err != nil {
				return cacheFault(folder, err)
			}
			r := cacheReport{Folder: folder, BytesMost: cache.Most(folder), DaysMost: daysMost, Inputs: []cachedReport{}}
			for _, k := range list {
				if k.Inputs == nil {
					k.Inputs = []string{}
				}
				r.Bytes += k.Bytes
				r.Inputs = append(r.Inputs, cachedReport{k.Inputs, k.Rows, k.Bytes, k.Used.UTC()})
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
	cacheFlag(cmd.Flags(), &flag)
	return cmd
}

func cacheFault(folder string, err error) error {
	return &bellows.Error{Kind: bellows.IO, Op: "look at cache", Subject: folder, Err: bellows.Pathless(err), Hint: "give --cache the folder that train was given"}
}
