package verbs

import (
	"path/filepath"

	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/model"
)

// begin opens the model of --from, nil where there is none.
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
		return nil, line.BadFlag("from", o.from, "it is a model of %s, and a run of %s cannot begin with it", m.App, d.Name)
	}
	return m, nil
}

// manifest is the file that is another one when the model of --from is.
func (o *trainOptions) manifest() []string {
	if o.from == "" {
		return nil
	}
	return []string{filepath.Join(o.from, "manifest.json")}
}
