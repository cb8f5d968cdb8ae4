package verbs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/cli/internal/stage"
	"bellows/progress"

	"github.com/spf13/cobra"
)

// predictReport is the last line of `predict --json`; before it comes a predictionLine per row.
type predictReport struct {
	Model   string           `json:"model"`
	App     string           `json:"app"`
	Rows    int              `json:"rows"`
	Unknown map[string]int64 `json:"unknown"` // what the model does not know, by what it is: "users"
	Seconds float64          `json:"seconds"` // of predicting, without reading
	stage.Timing
}

type predictionLine struct {
	Row        int `json:"row"` // from 1
	Prediction any `json:"prediction"`
	// What else an application says of a row, by name.
	Probabilities map[string]float64 `json:"probabilities,omitempty"`
	Shares        map[string]float64 `json:"shares,omitempty"`
	Scores        map[string]float64 `json:"scores,omitempty"`
}

// name puts the fields behind the prediction under their names. A field that is no number, or more fields than names, are a bug of the application.
func (l *predictionLine) name(fields []string, of app.Fields) error {
	values := make(map[string]float64, len(fields))
	for i, f := range fields {
		name := ""
		if of.Names == nil {
			at := max(strings.LastIndexByte(f, ':'), 0)
			name, f = f[:at], f[min(at+1, len(f)):]
		} else if len(fields) == len(of.Names) {
			name = of.Names[i]
		}
		v, err := strconv.ParseFloat(f, 64)
		if err != nil || name == "" {
			return bellows.Errorf(bellows.Bug, "write predictions", "", "field %d, %q, is not one of %s", i+2, f, of.Of)
		}
		values[name] = v
	}
	switch of.Of {
	case "probabilities":
		l.Probabilities = values
	case "scores":
		l.Scores = values
	case "shares":
		l.Shares = values
	default:
		return bellows.Errorf(bellows.Bug, "write predictions", "", "there is no object %q", of.Of)
	}
	return nil
}

func (c *Tool) predictCommand() *cobra.Command {
	one, other := c.sample(0), c.sample(1)
	names := false
	cmd := c.questionCommand(&cobra.Command{
		Use:   "predict MODEL DATA...",
		Short: "Predict each row of DATA with a saved model",
		Long: "Predict each row of DATA with a saved model, one line per row, in the order of DATA.\n" +
			"The rows may lack what is predicted: ratings of two fields, tables without a label.",
		Example: "predict " + one.model() + " " + one.asked + " > " + one.answer + "\npredict " + other.model() + " - < " + other.asked,
	}, true, stage.Answering, func(q *question) error { return c.predict(q, names) })
	cmd.Flags().BoolVar(&names, "names", false, "begin with a line that names the fields; JSON has the names in any case")
	return cmd
}

// writeNames writes the names of the fields.
func writeNames(out io.Writer, q *question) error {
	header := "prediction"
	if named, ok := q.predictor.(app.Named); ok {
		fields := named.Fields()
		if fields.Names == nil {
			return line.BadFlag("names", "true", "the fields of %s name themselves", q.model.App)
		}
		header += "\t" + strings.Join(fields.Names, "\t")
	}
	_, err := io.WriteString(out, header+"\n")
	return err
}

func (c *Tool) predict(q *question, names bool) error {
	start := time.Now()
	q.stages.Enter(stage.Answering)
	q.stages.Live.Yield()
	q.stages.Meter.Begin(progress.Part{Doing: "predicting", Unit: "rows", Total: int64(q.set.Rows())})
	b := bufio.NewWriterSize(c.Console, 1<<16)
	var out io.Writer = b
	if c.JSON {
		lines := &predictionLines{to: json.NewEncoder(b)}
		if named, ok := q.predictor.(app.Named); ok {
			lines.fields = named.Fields()
		}
		out = lines
	} else if names {
		if err := writeNames(b, q); err != nil {
			return err
		}
	}
	err := q.predictor.Predict(q.set, &meteredLines{to: out, meter: q.stages.Meter})
	if err == nil {
		err = b.Flush()
	}
	if err != nil && q.ctx.Err() != nil {
		return bellows.Errorf(bellows.Interrupted, "interrupted", "while predicting", "what was written is of the first rows")
	}
	if err != nil && bellows.KindOf(err) == bellows.Bug { // nobody has classified it
		err = &bellows.Error{Kind: bellows.IO, Op: "write predictions", Err: err}
	}
	if err != nil {
		return err
	}
	return c.Object(predictReport{q.name, q.model.App, q.set.Rows(), q.unknown, time.Since(start).Seconds(), q.stages.Timing()})
}

// meteredLines counts the lines that pass through it, and stops when its meter says so.
type meteredLines struct {
	to    io.Writer
	meter *progress.Meter
}

func (w *meteredLines) Write(b []byte) (int, error) {
	if err := w.meter.Add(int64(bytes.Count(b, []byte{'\n'}))); err != nil {
		return 0, err
	}
	return w.to.Write(b)
}

// predictionLines turns each line written to it into a JSON line: an application predicts in one form, that of people.
type predictionLines struct {
	to     *json.Encoder
	rest   []byte // of a line that has not ended
	row    int
	fields app.Fields // behind the prediction; none without names
}

func (p *predictionLines) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	for {
		line, rest, whole := bytes.Cut(p.rest, []byte{'\n'})
		if !whole {
			return len(b), nil
		}
		p.row++
		one := predictionLine{Row: p.row}
		if first, others, ok := strings.Cut(string(line), "\t"); ok && p.fields.Of != "" {
			one.Prediction = predictionValue(first)
			if err := one.name(strings.Split(others, "\t"), p.fields); err != nil {
				return 0, err
			}
		} else {
			one.Prediction = predictionValue(string(line))
		}
		if err := p.to.Encode(one); err != nil {
			return 0, fmt.Errorf("standard output: %w", err)
		}
		p.rest = rest
	}
}

// predictionValue is a number where the line is one, a list where it has several fields.
func predictionValue(line string) any {
	fields := strings.Split(line, "\t")
	values := make([]any, len(fields))
	for i, f := range fields {
		values[i] = f
		if v, err := strconv.ParseFloat(f, 64); err == nil && json.Valid([]byte(f)) {
			values[i] = v
		}
	}
	if len(values) == 1 {
		return values[0]
	}
	return values
}
