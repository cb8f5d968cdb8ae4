package layout

import (
	"strings"

	"bellows/data/internal/lines"
)

// Frames makes the layout of named columns, from some of their rows.
func (d *Detector) Frames(keys []string, below []byte, format Format) (*Layout, *lines.Fault) {
	shown := format.Shown()
	switch {
	case d.Opt.Separator != "":
		return nil, &lines.Fault{What: "the columns of " + shown + " have no separator", How: "leave out --sep"}
	case d.Opt.Header == HeaderNo:
		return nil, &lines.Fault{What: "the columns of " + shown + " have names", How: "leave out --header no"}
	case len(d.Opt.Quadratic) > 0:
		return nil, &lines.Fault{What: shown + " has no namespaces",
			How: "leave out --quadratic, which is for Vowpal Wabbit text"}
	case d.Opt.Ngrams > 0 && d.Kind != Documents:
		return nil, &lines.Fault{What: shown + " has no words that follow each other",
			How: "leave out --ngrams, which is for text and Vowpal Wabbit text"}
	case d.Opt.HashBits > 0:
		return nil, &lines.Fault{What: shown + " has no names to be hashed",
			How: "leave out --hash-bits, which is for Vowpal Wabbit text"}
	case d.Opt.IndexBase != "" && d.Opt.As == nil:
		return nil, &lines.Fault{What: "the columns of " + shown + " have no indices that a base could count from",
			How: "leave out --base, which is for LIBSVM"}
	case d.Kind == Examples && (d.Opt.Features > 0 && d.Opt.As.modelColumns() == nil):
		return nil, &lines.Fault{What: "the features of the model have no names, and those of " + shown +
			" are found by their names", How: "give the rows in the form that training had"}
	case d.Kind == Documents:
		p, f := d.textAmong(keys, "column")
		if f == nil {
			p.Format = format
			f = d.Texts(p)
		}
		return p, f
	}
	p, f := d.layoutByName(keys, below)
	if f != nil {
		return nil, &lines.Fault{What: ofColumns.Replace(f.What), How: ofColumns.Replace(f.How)}
	}
	p.Format = format
	return p, nil
}

// ofColumns rewrites messages about a header and a first line for formats whose columns have names.
var ofColumns = strings.NewReplacer("the first line has", "the file has", "The first line has", "The file has",
	"the header names", "the file names", "the header does not name", "the file does not name",
	"first line", "file", ", separated by comma", "")
