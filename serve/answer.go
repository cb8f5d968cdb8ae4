package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"bellows"
	"bellows/app"
	"bellows/data"
)

// answered is what is sent back.
type answered struct {
	form string
	body []byte
	rows int

	missing int64 // values that were not there
}

// answer predicts the rows of a question, all in one pass.
func (s *Served) answer(q *question, most int) (*answered, error) {
	texts, err := s.reading(q)
	if err != nil {
		return nil, badRows(err)
	}
	name := "body"
	if q.answer == jsonForm {
		name = "rows"
	}
	set, err := texts.Read(name, q.text)
	if err != nil {
		return nil, badRows(err)
	}
	if set.Rows() > most {
		return nil, tooMany(most)
	}
	if n := set.Rows(); q.rows > 0 && n != q.rows {
		return nil, refuse(http.StatusBadRequest, "of %d rows %d hold values: the others name columns, or are comments; leave them out", q.rows, n)
	}
	d := s.take()
	ended := false
	defer func() { s.give(d, ended) }()
	d.text.Reset()
	if err := d.predictor.Predict(set, &d.text); err != nil {
		return nil, badRows(err)
	}
	ended = true
	if lines := bytes.Count(d.text.Bytes(), []byte{'\n'}); lines != set.Rows() {
		return nil, bellows.Errorf(bellows.Bug, "predict", s.name, "there are %d lines for %d rows", lines, set.Rows())
	}
	lacking := set.Missing()
	out := &answered{form: q.answer, rows: set.Rows()}
	for _, n := range lacking {
		out.missing += n
	}
	if q.answer == textForm {
		out.body = bytes.Clone(d.text.Bytes())
		return out, nil
	}
	lines, err := d.objects.Append(d.text.Bytes(), 0)
	if err != nil {
		return nil, badRows(err)
	}
	if q.answer == linesForm {
		out.body = bytes.Clone(lines)
		return out, nil
	}
	out.body, err = s.object(lines, unknownIn(d.predictor, set), lacking)
	return out, err
}

// reading returns how the rows of a question are read.
func (s *Served) reading(q *question) (*data.Texts, error) {
	if q.format == "" && !q.comma {
		return s.texts, nil
	}
	opt := s.of.Options
	if q.format != "" {
		opt.Format = q.format
		if q.format != data.CSV && q.format != data.TSV {
			opt.Separator, opt.Header = "", data.HeaderAuto
		}
		if s.of.Kind == data.Ratings && q.format != data.JSONL {
			opt.Format = data.Triples
		}
	}
	if q.comma {
		opt.Format, opt.Separator, opt.Header = data.CSV, ",", data.HeaderNo
		switch s.of.Kind {
		case data.Ratings:
			opt.Format = data.Triples
		case data.Documents:
			return nil, errors.New(`a document is a string, or an object with its text: {"text": "..."}`)
		}
	}
	return s.texts.WithOptions(opt)
}

// badRows returns the refusal of rows that cannot be read or predicted: but for bugs, whoever asks can do something
// about it.
func badRows(err error) error {
	var bad *data.Error
	if errors.As(err, &bad) {
		return &refusal{http.StatusBadRequest, bad.Error(), bad.Line}
	}
	var typed *bellows.Error
	if errors.As(err, &typed) && typed.Kind == bellows.Bug {
		return err
	}
	return refuse(http.StatusBadRequest, "%v", err)
}

// unknownIn returns what in the rows the model does not know, as predict counts it.
func unknownIn(p app.Predictor, set *data.Set) map[string]int64 {
	counts := map[string]int64{}
	if s, ok := p.(app.Stranger); ok {
		maps.Copy(counts, s.Unknown(set, false))
	}
	dropped := "features"
	if set.Kind == data.Documents {
		dropped = "words"
	}
	counts[dropped] += set.Detected.Dropped
	counts["categories"] += set.Detected.Unknown
	maps.DeleteFunc(counts, func(_ string, n int64) bool { return n == 0 })
	return counts
}

// object returns the answer in JSON, of the lines of its rows. missing counts the missing values of each column, which are answered with what the model makes of them.
func (s *Served) object(lines []byte, unknown, missing map[string]int64) ([]byte, error) {
	more, err := json.Marshal(struct {
		Unknown map[string]int64 `json:"unknown"`
		Missing map[string]int64 `json:"missing"`
	}{unknown, missing})
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "answer", s.name, "%w", err)
	}
	name, err := json.Marshal(s.name)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "answer", s.name, "%w", err)
	}
	out := make([]byte, 0, len(lines)+len(more)+len(name)+100)
	out = append(append(append(out, `{"model":`...), name...), `,"digest":"`+s.digest+`","predictions":[`...)
	from := len(out)
	out = append(out, lines[:len(lines)-1]...)
	for i := from; i < len(out); i++ { // a line contains no line end: JSON has escaped them
		if out[i] == '\n' {
			out[i] = ','
		}
	}
	return append(append(append(out, "],"...), more[1:]...), '\n'), nil
}

// about is what GET /model says.
type about struct {
	Model    string             `json:"model"`
	App      string             `json:"app"`
	Digest   string             `json:"digest"` // of its files
	Opened   string             `json:"opened"` // when
	Data     string             `json:"data"`   // ratings, examples or documents
	Fields   []string           `json:"fields"` // of a line of text; those that name themselves are not listed
	Settings map[string]string  `json:"settings"`
	Metrics  map[string]float64 `json:"metrics"`
	Input    json.RawMessage    `json:"input,omitempty"` // how its training data was read
	Limits   aboutLimits        `json:"limits"`
}

type aboutLimits struct {
	Body     int64   `json:"body_bytes"`
	Rows     int     `json:"rows"`
	Requests int     `json:"requests"`
	Timeout  float64 `json:"timeout_seconds"`
}

func (s *Served) about(l Limits) about {
	m := s.of.Model
	a := about{Model: s.name, App: m.App, Digest: s.digest, Opened: s.at.UTC().Format("2006-01-02T15:04:05Z"), Data: s.of.Kind.String(),
		Fields: append([]string{"prediction"}, s.fields.Names...), Settings: orNone(m.Settings), Metrics: orNone(m.Metrics), Input: m.Input,
		Limits: aboutLimits{l.Body, l.Rows, l.Requests, l.Timeout.Seconds()}}
	return a
}

func orNone[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// send writes an answer whole.
func (a *answered) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", a.form)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.Write(a.body) // a client that has gone needs no answer
}
