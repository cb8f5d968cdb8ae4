package data

import "bellows/data/internal/layout"

// Format is how the rows of an input are written, by its name as an option. "" is not known yet.
type Format = layout.Format

// The formats.
const (
	LIBSVM  = layout.LIBSVM
	LibFM   = layout.LibFM
	VW      = layout.VW
	CSV     = layout.CSV
	TSV     = layout.TSV
	Triples = layout.Triples
	JSONL   = layout.JSONL
	Parquet = layout.Parquet
	Arrow   = layout.Arrow
	IDX     = layout.IDX
	Images  = layout.Images
	Docword = layout.Docword
	LDAC    = layout.LDAC
	Text    = layout.Text
)

// Formats is the names of all formats, in the order in which help lists them.
func Formats() []string { return layout.Formats() }

// RatingColumns lists by what names in a header the user, the item and the rating are found, for help.
func RatingColumns() (user, item, rating []string) { return layout.RatingColumns() }

// TimeColumns lists by what names in a header the time of a row is found, for help.
func TimeColumns() []string { return layout.TimeColumns() }
