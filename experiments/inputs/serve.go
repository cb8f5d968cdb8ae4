package inputs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// served asks a model that is served: good rows get what predict says, and rows of another shape get 400 with the name of what is wrong.
func served(in *input) {
	app, rows := pick(in, "mlr", "logistic", "ridge"), 80
	which := in.deal(rows, 3)
	f := pick(in, nearby, farColumns[0], farColumns[4], farColumns[7])
	t, _, _ := f.columns(in, "t", in.units(rows, f.span))
	gaps := in.one(2)
	if gaps {
		t.cells[3], t.cells[rows/2] = "", ""
	}
	k := &column{name: "k", quoted: true}
	y := &column{name: "y", kind: arrow.PrimitiveTypes.Int64}
	for i, w := range which {
		k.cells = append(k.cells, []string{"red", "green", "blue"}[w])
		y.cells = append(y.cells, map[bool]string{true: "16777217", false: "16777216"}[w == 0 || i%5 == 0])
	}
	x := in.noise("x", rows)
	all := table{t, k, y, x}
	form := pick(in, tableForms...)
	in.describe(f.name, form, app, map[bool]string{true: "t is missing in some rows", false: "complete"}[gaps])
	args := []string{"--label", "y"}
	if app == "mlr" {
		args = append(args, "--epochs", "5")
	}
	file := in.write("train", form, all, "y", "")
	if !in.mustRead(in.train(app, file, args...)) {
		return
	}
	want := in.predict(file)
	s := in.serve()
	if s == nil {
		return
	}
	defer s.end()
	features := table{t, k, x}
	// The value of a cell as JSON.
	value := func(c *column, r int) string {
		switch {
		case c.cells[r] == "":
			return "null"
		case c.quoted:
			return text(c.cells[r])
		}
		return c.cells[r]
	}
	object := func(r int, without string, more ...string) string {
		var parts []string
		for _, c := range features {
			if c.name != without {
				parts = append(parts, text(c.name)+":"+value(c, r))
			}
		}
		return "{" + strings.Join(append(parts, more...), ",") + "}"
	}
	array := func(r, least, most int) string {
		var parts []string
		for i := least; i < most; i++ {
			parts = append(parts, value(features[i%3], r))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	rowsOf := func(row ...string) string { return `{"rows":[` + strings.Join(row, ",") + "]}" }
	in.answered(s, rowsOf(object(5, ""), object(3, ""), object(9, "", `"y":16777216`)), []string{want[5], want[3], want[9]}, map[bool]int{true: 1}[gaps])
	in.answered(s, rowsOf(array(7, 0, 3), array(8, 0, 3)), []string{want[7], want[8]}, 0)
	for what, body := range map[string][2]string{
		"an array of four":      {rowsOf(array(1, 0, 3), array(2, 0, 4)), "3"},
		"an array of two":       {rowsOf(array(1, 0, 2)), "3"},
		"an array with a label": {rowsOf("[" + value(t, 1) + `,"red",16777216,` + x.cells[1] + "]"), "3"},
		"an empty array":        {rowsOf("[]"), "empty"},
		"an unknown key":        {rowsOf(object(1, ""), object(2, "", `"weight":3`)), "weight"},
		"a key in other case":   {rowsOf(object(2, "k", `"K":"red"`)), "K"},
		"no key k":              {rowsOf(object(1, ""), object(2, "k")), "k"},
		"no key x":              {rowsOf(object(2, "x")), "x"},
		"an empty object":       {rowsOf("{}"), ""},
		"a word for a number":   {rowsOf(object(2, "x", `"x":"many"`)), "x"},
		"a percentage":          {rowsOf(object(2, "x", `"x":"5%"`)), "x"},
		"a key twice":           {rowsOf(object(2, "x", `"x":1`, `"x":2`)), "x"},
		"a list in a key":       {rowsOf(object(2, "x", `"x":[1]`)), "x"},
		"an infinite number":    {rowsOf(object(2, "x", `"x":1e999`)), "x"},
		"both kinds":            {rowsOf(object(1, ""), array(1, 0, 3)), ""},
		"no rows":               {`{"instances":[]}`, ""},
		"no JSON":               {"{", ""},
	} {
		status, answer := s.ask("POST", "/predict", body[0], nil)
		in.isError(what+": "+body[0], status, answer, 400, body[1])
	}
	status, answer := s.ask("POST", "/predict", rowsOf(object(1, "t")), nil)
	if gaps && status == 200 {
		if got := missingOf(answer); got != 1 {
			in.wrong("a key that may be left out: missing is %d, want 1: %s", got, answer)
		}
	} else if gaps {
		in.wrong("a key that may be left out: status %d: %s", status, answer)
	} else {
		in.isError("no key t", status, answer, 400, "t")
	}
	in.strayRequests(s, rowsOf(object(1, "")))
}

// strayRequests sends what is no question for predictions, and questions that are not to be answered.
func (in *input) strayRequests(s *server, body string) {
	for _, c := range []struct {
		method, path string
		header       map[string]string
		status       int
	}{
		{"GET", "/nothing", nil, 404},
		{"DELETE", "/predict", nil, 405},
		{"POST", "/predict", map[string]string{"Origin": "http://example.com"}, 403},
		{"POST", "/predict", map[string]string{"Origin": "null"}, 403},
		{"POST", "/predict", map[string]string{"Content-Type": "application/xml"}, 415},
	} {
		status, answer := s.ask(c.method, c.path, body, c.header)
		in.isError(fmt.Sprint(c.method, " ", c.path, " ", c.header), status, answer, c.status, "")
	}
}

// server is a model that is served.
type server struct {
	address string
	end     func()
}

// serve starts serve-model, and returns it when it listens.
func (in *input) serve() *server {
	c := in.command("serve-model", in.path("model"), "--listen", "127.0.0.1:0", "--json")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		in.err = err
		return nil
	}
	end := func() {
		if c.Process.Signal(os.Interrupt) != nil {
			return
		}
		_, _ = io.Copy(io.Discard, out)
		if err := c.Wait(); err != nil {
			in.wrong("serve-model ends with %v", err)
		}
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var event struct{ Address string }
	if err == nil {
		err = json.Unmarshal([]byte(line), &event)
	}
	if err != nil || event.Address == "" {
		in.wrong("serve-model: %v: %s", err, line)
		end()
		return nil
	}
	return &server{strings.TrimPrefix(event.Address, "http://"), end}
}

// ask sends a request, and returns the status and the body of the answer.
func (s *server) ask(method, path, body string, header map[string]string) (int, string) {
	q, err := http.NewRequest(method, "http://"+s.address+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	for k, v := range header {
		q.Header.Set(k, v)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, err.Error()
	}
	return a.StatusCode, string(text)
}

// isError records a finding unless an answer has a status and is JSON with a message that has a name.
func (in *input) isError(what string, status int, answer string, want int, name string) {
	var got struct {
		Error struct {
			Status  int
			Message string
		}
	}
	err := json.Unmarshal([]byte(answer), &got)
	if status != want || err != nil || got.Error.Status != want || !strings.Contains(got.Error.Message, name) {
		in.wrong("%s: status %d, want %d with %q: %.300s", what, status, want, name, answer)
	}
}

// missingOf returns the sum of the counts of missing values in an answer.
func missingOf(answer string) (sum int) {
	var got struct{ Missing map[string]int }
	if json.Unmarshal([]byte(answer), &got) != nil {
		return -1
	}
	for _, n := range got.Missing {
		sum += n
	}
	return sum
}

// answered records a finding unless rows get the predictions of predict, and so many values are counted as missing.
func (in *input) answered(s *server, body string, want []string, missing int) {
	status, answer := s.ask("POST", "/predict", body, nil)
	var got struct {
		Predictions []struct{ Prediction json.RawMessage }
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil || status != 200 {
		in.wrong("%s: status %d: %.300s", body, status, answer)
		return
	}
	var predictions []string
	for _, p := range got.Predictions {
		predictions = append(predictions, strings.Trim(string(p.Prediction), `"`))
	}
	in.same("predictions of serve-model beside those of predict, for "+body, predictions, want)
	if n := missingOf(answer); n != missing {
		in.wrong("%s: %d missing values are counted, want %d: %.300s", body, n, missing, answer)
	}
}

// calibrations trains two classes with probabilities by calibration. Their mean is the share of the second class, which is rare.
func calibrations(in *input) {
	const rows = 1200
	x, z := in.noise("x", rows), in.noise("z", rows)
	share := 0.08 + 0.4*in.rand.Float64()
	offset := math.Log(share/(1-share)) - 0.3
	y := &column{name: "y", kind: arrow.PrimitiveTypes.Int64}
	positive := 0
	for i := range rows {
		score := offset + 2*x.floats()[i] + 0.5*z.floats()[i]
		cell := "0"
		if in.rand.Float64() < 1/(1+math.Exp(-score)) {
			cell = "1"
			positive++
		}
		y.cells = append(y.cells, cell)
	}
	form, how, app := pick(in, tableForms...), pick(in, "platt", "platt", "isotonic"), pick(in, "svm", "logistic")
	in.describe(fmt.Sprintf("%.3f", share), form, how, app)
	file := in.write("train", form, table{y, x, z}, "y", "")
	r := in.train(app, file, "--label", "y", "--set", "calibrate="+how, "--seed", fmt.Sprint(1+in.rand.IntN(12)))
	if !in.mustRead(r) {
		return
	}
	p := in.bellows("predict", in.path("model"), file)
	if !in.mustRead(p) {
		return
	}
	var sum float64
	for line := range strings.Lines(p.out) {
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil || v < 0 || v > 1 {
			in.wrong("%q is no probability", line)
			return
		}
		sum += v
	}
	in.close("mean probability, compared with the share of the class", sum/rows, float64(positive)/rows, 0.012)
}
