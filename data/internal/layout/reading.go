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

// Reading is how an input was read: what another input needs to be read alike. A model keeps that of its training data, as `input` of
// its manifest, and Options.As reads by it. Formats, separators and columns are proposals there: a file that says otherwise of
// itself, and the options that are given, go before them.
type Reading struct {
	Format      Format       `json:"format"`
	FormatGiven bool         `json:"format_given,omitempty"` // an option named it, whatever the file's name says
	Separator   string       `json:"separator,omitempty"`    // as Options.Separator takes it; "" where lines have no columns
	Header      bool         `json:"header"`                 // the first line named the columns
	IndexBase   *int         `json:"index_base,omitempty"`   // LIBSVM and libFM
	HashBits    int          `json:"hash_bits,omitempty"`    // Vowpal Wabbit
	Quadratic   []string     `json:"quadratic,omitempty"`    // Vowpal Wabbit: pairs of letters of namespaces
	Label       *Column      `json:"label,omitempty"`        // tables
	Weight      *Column      `json:"weight,omitempty"`       // tables: how much rows count
	User        *Column      `json:"user,omitempty"`         // ratings
	Item        *Column      `json:"item,omitempty"`
	Rating      *Column      `json:"rating,omitempty"`
	TextLabels  bool         `json:"text_labels,omitempty"` // labels are text
	Origin      float64      `json:"origin,omitempty"`      // what labels that are numbers, or ratings, are counted from
	Origins     []Origin     `json:"origins,omitempty"`     // sparse formats: what features are counted from, ascending; columns of tables have theirs
	Features    []Column     `json:"features,omitempty"`    // tables: in the order of the model
	Gaps        []int        `json:"gaps,omitzero"`         // tables: which of Features had missing values in training, by their places, ascending; nil: unknown
	Ignored     []Column     `json:"ignored,omitempty"`     // tables: columns that were left out; Vowpal Wabbit: namespaces, which have no number
	Image       *images.Size `json:"image,omitempty"`       // images in folders or archives
	Text        string       `json:"text,omitempty"`        // documents in JSON lines: the key of their text
	StopWords   []string     `json:"stop_words,omitempty"`  // text: the words that were left out
	Missing     []string     `json:"missing,omitzero"`      // ratings, tables and labels that are text: the words for a value that is missing, in addition to the empty one; nil of models that do not say
	Ngrams      int          `json:"ngrams,omitempty"`      // text and Vowpal Wabbit: 2 where two words, or names, that follow each other are one, too
}

// Column is a column of a file. A column of numbers is one feature. One of text is a feature for each of its values, 1 where a row has
// the value, else 0.
type Column = columns.Column

// Origin is what a feature is counted from.
type Origin = lines.Origin

// Tabular says whether the input was a table.
func (r *Reading) Tabular() bool { return r.trained() != nil }

// Always reports whether each row of the training data had a value of a feature.
func (r *Reading) Always(feature int) bool {
	return r.Gaps != nil && !slices.Contains(r.Gaps, feature)
}

// ParseReading is the way back from JSON.
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
	if i := r.Image; i != nil && (i.Width < 1 || i.Height < 1 || i.Channels != images.Grey && i.Channels != images.Colours) {
		return nil, fmt.Errorf("image is %d × %d × %d; it has a width, a height, and 1 or 3 channels", i.Width, i.Height, i.Channels)
	}
	if b := r.IndexBase; b != nil && *b != 0 && *b != 1 {
		return nil, fmt.Errorf("index_base is %d; it is 0 or 1", *b)
	}
	return r, nil
}
