package data

import "bellows/data/internal/layout"

// Format names the format of an input, as the option does. "" is a format not known yet.
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

// Formats returns the names of all formats, in the order in which the help lists them.
func Formats() []string { return layout.Formats() }

// RatingColumns returns the header names by which the user, the item and the rating are recognised, for the help.
func RatingColumns() (user, item, rating []string) { return layout.RatingColumns() }

// TimeColumns returns the header names by which the time of a row is recognised, for the help.
func TimeColumns() []string { return layout.TimeColumns() }
