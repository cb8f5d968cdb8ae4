package verbs

import (
	"path/filepath"
	"strconv"

	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/model"
)

// begin opens the model of --from; nil: not set.
func (o *trainOptions) begin(d app.Description) (*model.Model, error) {
	if o.from == "" {
		return nil, nil
	}
	if !d.Warm {
		return nil, line.BadFlag("from", o.from, "%s cannot begin with a model", d.Name)
	}
	m, err := model.Open(o.from)
	if err != nil {
		return nil, err
	}
	if m.App != d.Name {
		return nil, line.BadFlag("from", o.from, "it is a model of %s, and a run of %s cannot begin with it; name a model of %s", m.App, d.Name, d.Name)
	}
	return m, nil
}

// reading returns how DATA is read: as the flags say, and where the run begins with a model of examples, with the
// model's columns.
func (o *order) reading(opt data.Options) (data.Options, error) {
	if o.from != nil && o.about.Data == data.Examples {
		as, err := readingOf(o.from)
		if err != nil {
			return opt, err
		}
		if opt.As, opt.Grow = as, true; as != nil && as.IndexBase != nil {
			opt.IndexBase = strconv.Itoa(*as.IndexBase)
		}
	}
	return o.opt.reading.apply(opt)
}

// manifest returns the file that is another one when the model of --from is.
func (o *trainOptions) manifest() []string {
	if o.from == "" {
		return nil
	}
	return []string{filepath.Join(o.from, "manifest.json")}
}
