package serve

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"bellows/model"
)

// columnsModel returns a model of two numbers and a text; one number and the text always had a value in training.
func columnsModel(t testing.TB, gaps string) *Opened {
	t.Helper()
	input := `{"format":"csv","separator":"comma","header":true,"label":{"name":"y","number":1},"text_labels":true,` + gaps +
		`"features":[{"name":"a","number":2,"fill":0.5},{"name":"b","number":3,"fill":0},{"name":"c","number":5,"levels":["blue","red"]}],"ignored":[{"name":"id","number":4}]}`
	return opened(t, &model.Model{App: "mlr", Input: json.RawMessage(input), Details: json.RawMessage(`{"index_base":0,"l2":0}`),
		Tensors: []model.Tensor{{Name: "weights", Shape: []int{2, 4}, Floats: []float32{2, 0, 1, 0, -2, 0, 0, 1}}, {Name: "bias", Shape: []int{2}, Floats: []float32{0, 0}}},
		IDs:     []model.IDs{{File: "labels.txt", Names: []string{"no", "yes"}}, {File: "columns.txt", Names: []string{"a", "b", "c=blue", "c=red"}}},
		Files:   []model.File{{Name: "model.safetensors", SHA256: "1"}}})
}

// TestRowsHaveTheShapeOfTraining: an array of another length, an object without a key that training always had, and one with a key that the model does not know are refused by name and row; other
// missing values are counted.
func TestRowsHaveTheShapeOfTraining(t *testing.T) {
	t.Parallel()
	strict, old := columnsModel(t, `"gaps":[1],`), columnsModel(t, "")
	for _, c := range []struct {
		of     *Opened
		rows   string
		status int
		row    int
		want   string
	}{
		{strict, `[1,2,"red"]`, 200, 0, `"unknown":{},"missing":{}`},
		{strict, `[1,null,"red"],[null,null,"red"]`, 200, 0, `"missing":{"a":1,"b":2}`},
		{strict, `[1,2,null]`, 200, 0, `"missing":{"c":1}`},
		{strict, `[1,2,"red"],["no",1,2,"red"]`, 400, 2, "the array has 4 values, and the model takes 3: a, b, c; the label is not among them"},
		{strict, `["no",1,2,7,"red"]`, 400, 1, "the array has 5 values"},
		{strict, `[1,2]`, 400, 1, "the array has 2 values"},
		{strict, `{"a":1,"b":2,"c":"red"},{"c":"red","a":1}`, 200, 0, `"missing":{"b":1}`},
		{strict, `{"a":null,"b":2,"c":"red"}`, 200, 0, `"missing":{"a":1}`},
		{strict, `{"a":1,"b":2,"c":"red"},{"b":2,"c":"red"}`, 400, 2, `the key "a" is missing, which all rows of the training data had`},
		{strict, `{"a":1,"b":2}`, 400, 1, `the key "c" is missing`},
		{strict, `{}`, 400, 1, `the key "a" is missing`},
		{strict, `{"a":1,"b":2,"c":"red","id":7,"y":"no"}`, 200, 0, `"missing":{}`},
		{strict, `{"a":1,"b":2,"c":"red"},{"a":1,"bb":2,"c":"red"}`, 400, 2, `the model was trained without the key "bb"`},
		{strict, `{"x":1}`, 400, 1, `the model was trained without the key "x"`},
		{old, `{"a":1}`, 200, 0, `"missing":{"b":1,"c":1}`},
		{old, `{"a":1,"x":2}`, 400, 1, `the model was trained without the key "x"`},
		{old, `["no",1,2,"red"]`, 400, 1, "the array has 4 values"},
	} {
		h := newServer(t, Default(), always(c.of), &events{}).Handler()
		w := asked(h, "POST", "/predict", "", `{"rows":[`+c.rows+`]}`)
		var answer problemAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		said := w.Body.String()
		if c.status != 200 {
			said = answer.Error.Message
		}
		if w.Code != c.status || answer.Error.Row != c.row || !strings.Contains(said, c.want) {
			t.Errorf("%s: %d, row %d: %s", c.rows, w.Code, answer.Error.Row, w.Body)
		}
	}
}

// TestPagesOfOtherOriginsAreRefused: a page may ask the address that it came from, and no other.
func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	h := newServer(t, Default(), always(tableModel(t, 0)), &events{}).Handler()
	for origin, want := range map[string]int{"": 200, "http://localhost": 200, "http://LOCALHOST": 200, "http://evil.example": 403, "null": 403, "http://localhost:3000": 403, "http://localhost.evil.example": 403, "localhost": 403, "://": 403} {
		for _, path := range []string{"/predict", "/model"} {
			method, more := "GET", []string{"Origin", origin}
			if path == "/predict" {
				method = "POST"
			}
			if origin == "" {
				more = nil
			}
			w := asked(h, method, path, "", `{"rows":[[1,2]]}`, more...)
			if w.Code != want || want != 200 && !strings.Contains(w.Body.String(), `{"error":{"status":403,`) {
				t.Errorf("%s from %q: %d %s", path, origin, w.Code, w.Body)
			}
		}
	}
}

// TestUnreadableRequestGetsJSON: refusals by package http are also JSON.
func TestUnreadableRequestGetsJSON(t *testing.T) {
	t.Parallel()
	s := newServer(t, Default(), always(tableModel(t, 0)), &events{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: s.Handler(), MaxHeaderBytes: 1 << 10}
	go h.Serve(bounded(l, 4))
	defer h.Close()
	for request, want := range map[string]int{
		"nonsense\r\n\r\n":                                                                         400,
		"GET /health HTTP/1.1\r\n\r\n":                                                             400,
		"GET /health HTTP/1.1\r\nHost: a b\r\n\r\n":                                                400,
		"GET /health HTTP/3.0\r\nHost: localhost\r\n\r\n":                                          505,
		"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n":             501,
		"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 8<<10) + "\r\n\r\n": 431,
	} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, request)
		all, _ := io.ReadAll(conn) // the rest of a long header may not have been read: then the connection is reset after the answer
		conn.Close()
		head, body, _ := bytes.Cut(all, []byte("\r\n\r\n"))
		var answer problemAnswer
		if err := json.Unmarshal(body, &answer); err != nil || answer.Error.Status != want || answer.Error.Message == "" || !strings.Contains(string(head), "Content-Type: application/json") {
			t.Errorf("%.60q: %q", request, all)
		}
	}
}
