package data

import (
	"context"
	"fmt"
	"slices"

	"bellows/data/internal/bags"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// English is the name of the list of stop words that is always there.
const English = bags.English

// pairs is the number of Options.Ngrams with which two words are one, too.
const pairs = 2

// settleWords reads the stop words that the options name.
func (o *Options) settleWords(ctx context.Context) error {
	switch {
	case o.Ngrams < 0 || o.Ngrams > pairs:
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

// texts settles what becomes of the words of documents: by the options, or as the model has it.
func (d *detector) texts(p *layout) *lines.Fault {
	o := d.opt
	asked := o.stops != nil || o.Ngrams > 0
	switch as := o.As; {
	case p.format != Text && !p.words:
		if asked {
			return &lines.Fault{Width: 1, What: "the words of " + p.format.shown() + " are counted already, and follow no others", How: "leave out --stop-words and --ngrams, which are for text"}
		}
		return nil
	case as != nil && asked && (!slices.Equal(as.StopWords, o.stops) || max(as.Ngrams, 1) != max(o.Ngrams, 1)):
		return &lines.Fault{Width: 1, What: "the model was trained with other stop words or pairs of words", How: "leave out --stop-words and --ngrams: the model says what they are"}
	case as != nil:
		p.stops, p.ngrams = as.StopWords, as.Ngrams
	default:
		p.stops, p.ngrams = o.stops, o.Ngrams
	}
	return nil
}

// textParser makes the parser of text of one worker.
func (p *layout) textParser(w *worker) *lines.Text {
	l := &lines.Text{Words: &w.items, Pairs: p.ngrams == pairs}
	if len(p.stops) > 0 {
		l.Stops = make(map[string]bool, len(p.stops))
		for _, word := range p.stops {
			l.Stops[word] = true
		}
	}
	return l
}
