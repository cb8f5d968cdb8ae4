package data

import (
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
)

// Reading is how an input was read: what another input needs to be read alike. A model keeps that of its training data, as `input` of its manifest.
type Reading = layout.Reading

// Column is a column of a file. A column of numbers is one feature; one of text is a feature for each of its values, 1 where a row has the value, else 0.
type Column = layout.Column

// Origin is what a feature far from 0 is counted from: its values are stored less the origin, by the difference in 64 bits.
type Origin = layout.Origin

// ParseReading is the way back from JSON.
func ParseReading(text []byte) (*Reading, error) { return layout.ParseReading(text) }

// reading is how the reader has read: what the layout says, and the base that the rows have turned out to have.
func (r *reader) reading(set *Set) *Reading {
	p := r.layout
	out := &Reading{Format: p.Format, FormatGiven: r.opt.Format != "", Header: p.Header, TextLabels: p.WordLabels, Origin: p.Origin}
	if p.Origins != nil {
		out.Origins = set.Examples.Origins
	}
	if p.Separator != "" && p.Keys == nil {
		out.Separator = lines.SeparatorOption(p.Separator)
	}
	if r.kind == Ratings || p.Table != nil || p.WordLabels {
		out.Missing = layout.MissingWords(r.opt.Missing, r.opt.As)
	}
	if p.Format.Indexed() {
		out.IndexBase = new(set.Examples.IndexBase)
	}
	if out.HashBits = p.Bits; p.Bits > 0 {
		out.Quadratic, out.Ngrams = p.Pairs, p.Ngrams
		for _, name := range p.Namespaces {
			out.Ignored = append(out.Ignored, Column{Name: name})
		}
	}
	switch {
	case r.kind == Ratings:
		out.User, out.Item = p.Column(p.User), p.Column(p.Item)
		if p.Label >= 0 {
			out.Rating = p.Column(p.Label)
		}
	case r.kind == Documents:
		if out.StopWords, out.Ngrams = p.Stops, p.Ngrams; p.Words {
			out.Text = p.Keys[0]
		}
	case p.Table != nil:
		if p.Label >= 0 {
			out.Label = p.Column(p.Label)
		}
		if p.Table.Weight >= 0 {
			out.Weight = p.Column(p.Table.Weight)
		}
		out.Features, out.Ignored = p.Table.Features, p.Table.Ignored
	}
	return out
}
