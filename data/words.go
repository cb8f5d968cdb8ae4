package data

import (
	"context"
	"fmt"

	"bellows/data/internal/bags"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// English is the name of the list of stop words that is always there.
const English = bags.English

// PairOf is the feature of two features of Vowpal Wabbit by Options.Quadratic, and GramOf that of two that follow each other by Options.Ngrams, of so many bits of hash.
func PairOf(first, second int32, bits int) int32 { return lines.PairOf(first, second, bits) }

// GramOf is said at PairOf.
func GramOf(first, second int32, bits int) int32 { return lines.GramOf(first, second, bits) }

// settleWords reads the stop words that the options name.
func (o *Options) settleWords(ctx context.Context) error {
	switch {
	case o.Ngrams < 0 || o.Ngrams > layout.Pairs:
		return &Error{File: fmt.Sprintf("ngrams %d", o.Ngrams), What: "is neither 1 nor 2", How: "use 1 for words alone, or 2 for pairs of them, too"}
	case o.StopWords == "":
		return nil
	case o.StopWords == English:
		o.stops = bags.EnglishStops()
		return nil
	}
	in, err := o.places.Stat(o.StopWords)
	if err != nil {
		return err
	}
	s, err := source.Open(ctx, in, o.source())
	if err != nil {
		return err
	}
	defer s.Close()
	o.stops, err = bags.Stops(s)
	return err
}
