package layout

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"bellows/data/internal/columns"
	"bellows/data/internal/lines"
	"bellows/data/internal/origins"
)

// sampledLines is the number of lines sampled for origins. A sample takes no more values.
const sampledLines = 256

// Coarse is a column that loses a part of its spread in spite of its origin. Name is its name in messages.
type Coarse struct {
	Name string
	Part float64
}

// coarse notes a column that loses more than a little.
func (p *Layout) coarse(name string, loss float64) {
	if loss > origins.Coarse {
		p.Coarse = append(p.Coarse, Coarse{name, loss})
	}
}

// tableCoarse notes what columns of a table lose.
func (p *Layout) tableCoarse() {
	p.coarse("the label", p.Table.LabelLoss)
	for i := range p.Table.Features {
		p.coarse("column "+p.Table.Features[i].Option(), p.Table.Features[i].Loss)
	}
}

// FoundCoarse adds the columns that lose digits to a Detection.
func (p *Layout) FoundCoarse(d *columns.Detection) {
	for _, c := range p.Coarse {
		d.Coarse, d.CoarseMost = append(d.Coarse, c.Name), max(d.CoarseMost, c.Part)
	}
}

// shifts returns the origins for the parsers of sparse rows.
func (p *Layout) shifts() lines.Shifts {
	return lines.Shifts{Origins: p.Origins, LabelOrigin: p.Origin}
}

// sample returns the first lines.
func (d *Detector) sample(line []byte) []byte {
	text, end := slices.Concat(line, []byte("\n"), d.below), 0
	for range sampledLines {
		at := bytes.IndexByte(text[end:], '\n')
		if at < 0 {
			break
		}
		end += at + 1
	}
	return text[:end]
}

// ratingOrigin settles what ratings are counted from.
func (d *Detector) ratingOrigin(p *Layout, line []byte) {
	if as := d.Opt.As; as != nil || p.Label < 0 {
		if as != nil {
			p.Origin = as.Origin
		}
		return
	}
	var s origins.Sample
	for line := range bytes.Lines(d.sample(line)) {
		if fields, f := lines.Fields(bytes.TrimRight(line, "\r\n"), p.Separator); f == nil && p.Label < len(fields) {
			if v, err := lines.Number64(fields[p.Label].Text); err == nil { // skips a header
				s.Add(v)
			}
		}
	}
	var loss float64
	p.Origin, loss = s.Choose()
	p.coarse("the rating", loss)
}

// sparseOrigins settles what labels and features of sparse rows are counted from. Only features that all rows have get
// an origin.
func (d *Detector) sparseOrigins(p *Layout, line []byte) {
	if as := d.Opt.As; as != nil {
		base := int32(0)
		if d.Opt.IndexBase == "1" && p.Format != LibFM {
			base = 1
		}
		for _, o := range as.features() {
			p.Origins = append(p.Origins, Origin{Feature: o.Feature + base, Value: o.Value})
		}
		if !p.WordLabels {
			p.Origin = as.Origin
		}
		return
	}
	text := d.sample(line)
	if !p.WordLabels {
		var labels origins.Sample
		for line := range bytes.Lines(text) {
			if fields := bytes.Fields(line); len(fields) > 0 && fields[0][0] != '#' {
				if v, err := lines.Number64(fields[0]); err == nil {
					labels.Add(v)
				}
			}
		}
		var loss float64
		p.Origin, loss = labels.Choose()
		p.coarse("the label", loss)
	}
	var w Numbers
	parser, ok := p.lineParser(d.Opt, &w).(lines.Sampler)
	if !ok {
		return
	}
	lines.Sample(parser, text, func(index int32, values []float64) {
		var s origins.Sample
		for _, v := range values {
			if v-v == 0 && math.Abs(v) < math.MaxFloat32 {
				s.Add(v)
			}
		}
		if origin, loss := s.Choose(); origin != 0 {
			p.Origins = append(p.Origins, Origin{Feature: index, Value: origin})
			p.coarse("feature "+strconv.Itoa(int(index)), loss)
		}
	})
}

// features returns the origins of a model's features, by their numbers from 0.
func (r *Reading) features() []Origin {
	if len(r.Features) == 0 {
		return r.Origins
	}
	return columns.Origins(r.Features)
}
