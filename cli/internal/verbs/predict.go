package verbs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/app"
	"bellows/cli/internal/line"
	"bellows/data"
	"bellows/model"

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
	var reading readOptions
	one, other := c.sample(0), c.sample(1)
	cmd := &cobra.Command{
		Use:   "predict MODEL DATA...",
		Short: "Predict each row of DATA with a saved model",
		Long: "Predict each row of DATA with a saved model, one line per row, in the order of DATA.\n" +
			"The rows may lack what is predicted: ratings of two fields, tables without a label.",
		Example: "predict " + one.model() + " " + one.asked + " > " + one.answer + "\npredict " + other.model() + " - < " + other.asked,
		Args:    modelAndData,
		RunE: func(cmd *cobra.Command, args []string) error {
			ask, err := c.question(cmd.Context(), args, reading, true)
			if err != nil {
				return err
			}
			defer ask.set.Close()
			return c.answer(ask, args[0])
		},
	}
	reading.register(cmd.Flags())
	return cmd
}

func (c *Tool) answer(ask question, name string) error {
	start := time.Now()
	out := c.Out
	if c.JSON {
		out = &predictionLines{to: c.Out}
	}
	b := bufio.NewWriterSize(out, 1<<16)
	err := ask.predictor.Predict(ask.set, b)
	if err == nil {
		err = b.Flush()
	}
	if err != nil {
		return asIO("write predictions", err)
	}
	return c.Object(predictReport{name, ask.model.App, ask.set.Rows(), time.Since(start).Seconds()})
}

// asIO gives an error that nobody has classified the kind of a failed read or write.
func asIO(op string, err error) error {
	if bellows.KindOf(err) == bellows.Bug {
		return &bellows.Error{Kind: bellows.IO, Op: op, Err: err}
	}
	return err
}

// question is a model and data to ask it about.
type question struct {
	model     *model.Model
	predictor app.Predictor
	set       *data.Set
}

// question opens the model and reads the data as the model needs it.
func (c *Tool) question(ctx context.Context, args []string, reading readOptions, unlabelled bool) (question, error) {
	q := question{}
	var err error
	if q.model, err = model.Open(args[0]); err != nil {
		return q, err
	}
	a := c.application(q.model.App)
	if a == nil {
		return q, bellows.Errorf(bellows.BadData, "open model", args[0],
			"it is of the application %q, and this version has %s", q.model.App, strings.Join(c.names(), ", "))
	}
	if q.predictor, err = a.Open(q.model); err != nil {
		return q, err
	}
	kind, opt := q.predictor.Read()
	if opt, err = reading.apply(opt); err != nil {
		return q, err
	}
	opt.Unlabelled = unlabelled
	opt.Stdin = c.In
	if q.set, err = data.Read(ctx, args[1:], kind, opt); err != nil {
		return q, interruptedWhile(ctx, "reading", err)
	}
	c.Talk("%s: %s", strings.Join(args[1:], " "), q.set.Detected)
	return q, nil
}

// interruptedWhile turns the error of a cancelled step into one that says so.
func interruptedWhile(ctx context.Context, doing string, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return bellows.Errorf(bellows.Interrupted, "interrupted", "while "+doing, "nothing was written")
}

func modelAndData(cmd *cobra.Command, args []string) error {
	if len(args) >= 2 {
		return nil
	}
	return line.Exactly("MODEL", "DATA")(cmd, args)
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
