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

	"github.com/spf13/cobra"
)

// predictReport is the last line of `predict --json`; before it comes a predictionLine per row.
type predictReport struct {
	Model   string  `json:"model"`
	App     string  `json:"app"`
	Rows    int     `json:"rows"`
	Seconds float64 `json:"seconds"` // of predicting, without reading
}

type predictionLine struct {
	Row        int `json:"row"` // from 1
	Prediction any `json:"prediction"`
}

func (c *Tool) predictCommand() *cobra.Command {
	one, other := c.sample(0), c.sample(1)
	return c.questionCommand(&cobra.Command{
		Use:   "predict MODEL DATA...",
		Short: "Predict each row of DATA with a saved model",
		Long: "Predict each row of DATA with a saved model, one line per row, in the order of DATA.\n" +
			"The rows may lack what is predicted: ratings of two fields, tables without a label.",
		Example: "predict " + one.model() + " " + one.asked + " > " + one.answer + "\npredict " + other.model() + " - < " + other.asked,
	}, true, c.predict)
}

func (c *Tool) predict(q *question) error {
	start := time.Now()
	out := c.Out
	if c.JSON {
		out = &predictionLines{to: c.Out}
	}
	b := bufio.NewWriterSize(out, 1<<16)
	err := q.predictor.Predict(q.set, b)
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return asIO("write predictions", err)
	}
	return c.Object(predictReport{q.name, q.model.App, q.set.Rows(), time.Since(start).Seconds()})
}

// asIO gives an error that nobody has classified the kind of a failed read or write.
func asIO(op string, err error) error {
	if bellows.KindOf(err) == bellows.Bug {
		return &bellows.Error{Kind: bellows.IO, Op: op, Err: err}
	}
	return err
}

// predictionLines turns each line written to it into a JSON line.
type predictionLines struct {
	to   io.Writer
	rest []byte
	row  int
	out  bytes.Buffer
}

func (p *predictionLines) Write(b []byte) (int, error) {
	p.rest = append(p.rest, b...)
	p.out.Reset()
	for {
		line, rest, ok := bytes.Cut(p.rest, []byte{'\n'})
		if !ok {
			break
		}
		p.row++
		text, err := json.Marshal(predictionLine{p.row, predictionValue(string(line))})
		if err != nil {
			return 0, err
		}
		p.out.Write(append(text, '\n'))
		p.rest = rest
	}
	p.rest = append([]byte(nil), p.rest...)
	if _, err := p.to.Write(p.out.Bytes()); err != nil {
		return 0, fmt.Errorf("standard output: %w", err)
	}
	return len(b), nil
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
