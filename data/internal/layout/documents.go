package layout

import (
	"bytes"
	"slices"

	"bellows/data/internal/foreign"
	"bellows/data/internal/lines"
)

// Documents tells a bag of words from text. It refuses lines of numbers, which are ratings, tables or examples: a
// tokeniser would make nonsense of them.
func (d *Detector) Documents(line []byte) (*Layout, *lines.Fault) {
	if d.Opt.Format == "" {
		if f := foreign.Text(line, true, false); f != nil {
			return nil, f
		}
	}
	if d.isJSON(line) {
		return d.jsonDocuments(line)
	}
	if d.Opt.Text != "" {
		return nil, &lines.Fault{Width: len(line), What: "the documents are no JSON lines, and have no keys",
			How: "leave out --text"}
	}
	p := &Layout{Format: d.Opt.Format, Label: -1}
	fields := bytes.Fields(line)
	switch {
	case p.Format.Documents():
	case p.Format != "":
		return nil, &lines.Fault{Width: 1, What: p.Format.Shown() + " does not hold documents",
			How: "use --format docword, ldac, jsonl or text"}
	case FormatOf(d.In.Name) == LDAC, foreign.CountsItself(line):
		p.Format = LDAC
	case len(fields) == 1 && lines.IsDigits(fields[0]):
		p.Format = Docword
	case foreign.OnlyNumbers(line):
		return nil, &lines.Fault{Width: len(line), What: "the first line holds numbers, not words",
			How: "documents are text, one a line, or a bag of words: docword, whose first three lines are the " +
				"numbers of documents, words and entries, or LDA-C, a document on each line"}
	default:
		p.Format = Text
	}
	return p, nil
}

// Pairs is the value of Options.Ngrams that adds pairs of words.
const Pairs = 2

// Texts settles the stop words and pairs of documents, by the options or by the model.
func (d *Detector) Texts(p *Layout) *lines.Fault {
	o := d.Opt
	asked := o.Stops != nil || o.Ngrams > 0
	switch as := o.As; {
	case p.Format != Text && !p.Words:
		if asked {
			return &lines.Fault{Width: 1, What: "the words of " + p.Format.Shown() +
				" are counted already, and follow no others",
				How: "leave out --stop-words and --ngrams, which are for text"}
		}
		return nil
	case as != nil && asked && (!slices.Equal(as.StopWords, o.Stops) || max(as.Ngrams, 1) != max(o.Ngrams, 1)):
		return &lines.Fault{Width: 1, What: "the model was trained with other stop words or pairs of words",
			How: "leave out --stop-words and --ngrams: the model says what they are"}
	case as != nil:
		p.Stops, p.Ngrams = as.StopWords, as.Ngrams
	default:
		p.Stops, p.Ngrams = o.Stops, o.Ngrams
	}
	return nil
}
