package layout

import "bellows/data/internal/missing"

// Options are the options of the command, with the names of data.Options. The zero value leaves everything open.
type Options struct {
	Format                                                              Format
	Label, User, Item, Rating, Time, Weight, Text, Separator, IndexBase string
	Timed, TimeKept                                                     bool
	Header                                                              Header
	Ignore, Quadratic, Categorical                                      []string
	HashBits, Ngrams                                                    int
	// width of the rows; 0 takes it from the input
	Features            int
	FeaturesMost        int      // the limit on Features
	Stops               []string // stop words of text
	Unlabelled, Numbers bool
	As                  *Reading
	Grow, Complete      bool
	Missing             *missing.Rule
	// of all inputs; names of their folders may be columns
	Paths []string
}
