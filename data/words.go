package data

import (
	"context"
	"fmt"

	"bellows/data/internal/bags"
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// English is the name of the built-in list of stop words.
const English = bags.English

// PairOf returns the feature that combines two features of Vowpal Wabbit by Options.Quadratic, hashed to the given
// number of bits.
func PairOf(first, second int32, bits int) int32 { return lines.PairOf(first, second, bits) }

// GramOf returns the feature that combines two adjacent features by Options.Ngrams, hashed to the given number of bits.
func GramOf(first, second int32, bits int) int32 { return lines.GramOf(first, second, bits) }

// readStopWords reads the stop words that the options name.
func (o *Options) readStopWords(ctx context.Context) error {
	switch {
	case o.Ngrams < 0 || o.Ngrams > layout.Pairs:
		return &Error{File: fmt.Sprintf("ngrams %d", o.Ngrams), What: "is neither 1 nor 2", How: "use 1 for single words, or 2 for words and pairs of adjacent words"}
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
