package layout

import "bellows/data/internal/missing"

// Options are what the command asks for, as data.Options has them with the same names. The zero value leaves everything open.
type Options struct {
	Format                                                              Format
	Label, User, Item, Rating, Time, Weight, Text, Separator, IndexBase string
	Timed, TimeKept                                                     bool
	Header                                                              Header
	Ignore, Quadratic, Categorical                                      []string
	HashBits, Ngrams                                                    int
	Features                                                            int      // width of the rows; 0 takes it from the input
	FeaturesMost                                                        int      // bounds it
	Stops                                                               []string // words that are left out of text
	Unlabelled, Numbers                                                 bool
	As                                                                  *Reading
	Grow, Complete                                                      bool
	Missing                                                             *missing.Rule
	Paths                                                               []string // of all inputs; names of their folders may be columns
}
