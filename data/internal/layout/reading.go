package layout

import (
	"encoding/json"
	"fmt"
	"slices"

	"bellows/data/internal/bags"
	"bellows/data/internal/columns"
	"bellows/data/internal/images"
	"bellows/data/internal/lines"
)

// A Reading describes how an input was read: what is needed to read another input in the same way. A model keeps the
// Reading of its training data as `input` in its manifest, and Options.As uses it. The format, separator and columns in
// it are proposals: what a file says about itself, and given options, override them.
type Reading struct {
	Format Format `json:"format"`
	// an option named the format, whatever the file's name says
	FormatGiven bool `json:"format_given,omitempty"`
	// as Options.Separator takes it; "" if lines have no columns
	Separator  string   `json:"separator,omitempty"`
	Header     bool     `json:"header"`               // the first line named the columns
	IndexBase  *int     `json:"index_base,omitempty"` // LIBSVM and libFM
	HashBits   int      `json:"hash_bits,omitempty"`  // Vowpal Wabbit
	Quadratic  []string `json:"quadratic,omitempty"`  // Vowpal Wabbit: pairs of initial letters of namespaces
	Label      *Column  `json:"label,omitempty"`      // tables
	Weight     *Column  `json:"weight,omitempty"`     // tables: the weights of rows
	User       *Column  `json:"user,omitempty"`       // ratings
	Item       *Column  `json:"item,omitempty"`
	Rating     *Column  `json:"rating,omitempty"`
	TextLabels bool     `json:"text_labels,omitempty"` // labels are text
	Origin     float64  `json:"origin,omitempty"`      // what labels that are numbers, or ratings, are counted from
	// sparse formats: what features are counted from, ascending; columns of tables have their own
	Origins  []Origin `json:"origins,omitempty"`
	Features []Column `json:"features,omitempty"` // tables: in the order of the model
	// tables: the positions in Features of those with missing values in training, ascending; nil: unknown
	Gaps []int `json:"gaps,omitzero"`
	// tables: columns left out; Vowpal Wabbit: namespaces, which have no number
	Ignored   []Column     `json:"ignored,omitempty"`
	Image     *images.Size `json:"image,omitempty"`      // images in folders or archives
	Text      string       `json:"text,omitempty"`       // documents in JSON lines: the key of their text
	StopWords []string     `json:"stop_words,omitempty"` // text: the stop words
	// ratings, tables and labels that are text: the words for a missing value, in addition to the empty one; nil in
	// models that do not record them
	Missing []string `json:"missing,omitzero"`
	// text and Vowpal Wabbit: 2 adds pairs of adjacent words or names
	Ngrams int `json:"ngrams,omitempty"`
}

// A Column is a column of a file. A column of numbers is one feature. A column of text has a feature for each of its
// values, which is 1 in rows with that value, else 0.
type Column = columns.Column

// An Origin is what a feature is counted from.
type Origin = lines.Origin

// Tabular reports whether the input was a table.
func (r *Reading) Tabular() bool { return r.modelColumns() != nil }

// AlwaysPresent reports whether every row of the training data had a value of a feature.
func (r *Reading) AlwaysPresent(feature int) bool {
	return r.Gaps != nil && !slices.Contains(r.Gaps, feature)
}

// ParseReading decodes a Reading from JSON.
func ParseReading(text []byte) (*Reading, error) {
	r := &Reading{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	if r.Format != "" && r.Format.Shown() == "" {
		return nil, fmt.Errorf("the format %q is not known", r.Format)
	}
	if r.Separator != "" {
		if _, err := lines.SeparatorOf(r.Separator); err != nil {
			return nil, fmt.Errorf("%q cannot separate fields", r.Separator)
		}
	}
	if r.HashBits < 0 || r.HashBits > lines.HashBitsMost {
		return nil, fmt.Errorf("hash_bits is %d; it is 1 to %d", r.HashBits, lines.HashBitsMost)
	}
	if slices.ContainsFunc(r.Quadratic, func(pair string) bool { return len(pair) != 2 }) {
		return nil, fmt.Errorf("quadratic is %q; they are two letters each", r.Quadratic)
	}
	if r.Ngrams < 0 || r.Ngrams > Pairs {
		return nil, fmt.Errorf("ngrams is %d; it is 1 or 2", r.Ngrams)
	}
	if len(r.StopWords) > bags.StopsMost {
		return nil, fmt.Errorf("there are %d stop_words, at most %d can be", len(r.StopWords), bags.StopsMost)
	}
	if i := r.Image; i != nil && (i.Width < 1 || i.Height < 1 || i.Channels != images.Grey &&
		i.Channels != images.Colours) {
		return nil, fmt.Errorf("image is %d × %d × %d; it has a width, a height, and 1 or 3 channels", i.Width,
			i.Height, i.Channels)
	}
	if b := r.IndexBase; b != nil && *b != 0 && *b != 1 {
		return nil, fmt.Errorf("index_base is %d; it is 0 or 1", *b)
	}
	return r, nil
}
