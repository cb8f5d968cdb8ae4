package data

import (
	"bellows/data/internal/layout"
	"bellows/data/internal/lines"
)

// A Reading describes how an input was read: what is needed to read another input in the same way. A model keeps the
// Reading of its training data as `input` in its manifest.
type Reading = layout.Reading

// A Column is a column of a file. A column of numbers is one feature. A column of text has a feature for each of its
// values, which is 1 in rows with that value, else 0.
type Column = layout.Column

// An Origin is the value from which a feature far from 0 is counted: the stored value is the difference, computed in 64
// bits.
type Origin = layout.Origin

// ParseReading decodes a Reading from JSON.
func ParseReading(text []byte) (*Reading, error) { return layout.ParseReading(text) }

// reading returns how the inputs were read: by the layout, and with the index base found in the rows.
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
