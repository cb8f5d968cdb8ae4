package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"bellows/data"
	"bellows/figures"
)

// refusal is why a question has no answer.
type refusal struct {
	status  int
	message string
	row     int // that the message is of, from 1; 0: none
}

func (r *refusal) Error() string { return r.message }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, message: fmt.Sprintf(format, args...)}
}

// The forms that questions and answers have.
const (
	jsonForm  = "application/json"
	linesForm = "application/jsonl"
	textForm  = "text/tab-separated-values"
	curlForm  = "application/x-www-form-urlencoded" // what curl -d calls whatever it sends
)

// question is rows to predict, and the form that the answer is to have.
type question struct {
	text   []byte      // lines, as in a file
	format data.Format // of them; "" as the model's data had, or as they look
	rows   int         // number of rows; 0: not counted
	comma  bool        // fields are separated by commas, and the first line names none
	answer string
}

// forms are the types of bodies, and the formats of their lines.
var forms = map[string]data.Format{
	"application/jsonl": data.JSONL, "application/x-ndjson": data.JSONL, "application/x-jsonlines": data.JSONL,
	"text/csv": data.CSV, "text/tab-separated-values": data.TSV, "text/plain": "", "text/x-libsvm": data.LIBSVM, "text/x-vw": data.VW,
}

// ask reads a request with a bounded body.
func ask(r *http.Request, body []byte, l Limits, a arrays) (*question, error) {
	given := r.Header.Get("Content-Type")
	form, params, err := mime.ParseMediaType(given)
	if err != nil && given != "" {
		return nil, refuse(http.StatusUnsupportedMediaType, "the Content-Type %q is not one; %s", given, formsHint)
	}
	if set := params["charset"]; set != "" && !strings.EqualFold(set, "utf-8") && !strings.EqualFold(set, "us-ascii") {
		return nil, refuse(http.StatusUnsupportedMediaType, "the charset %q is not read; send UTF-8", set)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, refuse(http.StatusBadRequest, `the body is empty; send {"rows": [...]}, or lines as in a file`)
	}
	q := &question{answer: jsonForm}
	if given == "" || form == jsonForm || form == curlForm {
		if err := q.object(body, l.Rows, a); err != nil {
			return nil, err
		}
	} else if format, known := forms[form]; known {
		q.text, q.format, q.answer = body, format, textForm
		if format == data.JSONL {
			q.answer = linesForm
		}
		if n := bytes.Count(bytes.TrimRight(body, "\n"), []byte{'\n'}); n > l.Rows { // a header has no row
			return nil, tooMany(l.Rows)
		}
	} else {
		return nil, refuse(http.StatusUnsupportedMediaType, "bodies of %s are not read; %s", form, formsHint)
	}
	return q, q.accepts(r.Header.Get("Accept"))
}

const formsHint = "send application/json, application/jsonl, text/csv, text/tab-separated-values, text/x-libsvm, text/x-vw, or text/plain for lines as training had them"

func tooMany(most int) error {
	return refuse(http.StatusRequestEntityTooLarge, "there are more than %d rows, which are all that are taken at once; send them in parts", most)
}

// accepts chooses the form of the answer: what the header wants, or what fits the question.
func (q *question) accepts(header string) error {
	if header == "" {
		return nil
	}
	for part := range strings.SplitSeq(header, ",") {
		form, _, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		switch form {
		case "*/*":
			return nil
		case jsonForm:
			q.answer = jsonForm
			return nil
		case linesForm, "application/x-ndjson":
			q.answer = linesForm
			return nil
		case textForm, "text/plain", "text/*":
			q.answer = textForm
			return nil
		}
	}
	return refuse(http.StatusNotAcceptable, "answers are application/json, application/jsonl or text/tab-separated-values, and none of these is accepted: %s", header)
}

// object takes the rows of {"rows": [...]} as lines: of objects, of arrays of values, or of strings, each of which is a
// line. It reads row by row, so that no more rows than allowed are in memory.
func (q *question) object(body []byte, most int, a arrays) error {
	in := json.NewDecoder(bytes.NewReader(body))
	in.UseNumber()
	var out bytes.Buffer
	first := byte(0)
	if err := opens(in); err != nil {
		return err
	}
	var row json.RawMessage
	for ; in.More(); q.rows++ {
		if q.rows == most {
			return tooMany(most)
		}
		if err := in.Decode(&row); err != nil {
			return badJSON(err)
		}
		if first == 0 {
			first = row[0]
		}
		if err := rowLine(&out, row, first, a); err != nil {
			return &refusal{http.StatusBadRequest, err.Error(), q.rows + 1}
		}
		out.WriteByte('\n')
	}
	for _, end := range []json.Delim{']', '}'} {
		switch t, err := in.Token(); {
		case err != nil:
			return badJSON(err)
		case t != end:
			return refuse(http.StatusBadRequest, `there is more in the object than "rows"; send {"rows": [...]}`)
		}
	}
	if _, err := in.Token(); err != io.EOF {
		return refuse(http.StatusBadRequest, `there is more text after the object {"rows": [...]}; send one`)
	}
	if q.rows == 0 {
		return refuse(http.StatusBadRequest, `there are no rows; send {"rows": [...]}`)
	}
	q.text = out.Bytes()
	switch first {
	case '{':
		q.format = data.JSONL
	case '[':
		q.comma = true
	}
	return nil
}

// opens reads what stands before the first row.
func opens(in *json.Decoder) error {
	for _, want := range []json.Token{json.Delim('{'), "rows", json.Delim('[')} {
		t, err := in.Token()
		switch {
		case err != nil:
			return badJSON(err)
		case t != want:
			return refuse(http.StatusBadRequest, `the body does not begin with {"rows": [ but has %v there; send {"rows": [...]}`, shown(t))
		}
	}
	return nil
}

// shown returns a token of JSON in a message.
func shown(t json.Token) string {
	if text, ok := t.(string); ok {
		return fmt.Sprintf("%.40q", text)
	}
	return fmt.Sprint(t)
}

// rowLine appends a row as a line. Rows are all of the kind that the first one is of.
func rowLine(out *bytes.Buffer, row json.RawMessage, first byte, a arrays) error {
	switch {
	case row[0] != first:
		return errors.New("this row is another kind of JSON value than the first; rows are all objects, all arrays, or all strings")
	case first == '{':
		return json.Compact(out, row)
	case first == '[':
		n, err := values(out, row)
		if err != nil {
			return err
		}
		return a.check(n)
	case first == '"':
		return lineOf(out, row)
	}
	return errors.New("a row is an object of values by their names, an array of values in their order, or a string, which is a line as training had it")
}

func badJSON(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return refuse(http.StatusBadRequest, "the body ends in the middle of its JSON")
	case errors.As(err, &syntax):
		return refuse(http.StatusBadRequest, "the body is not JSON at byte %d: %v", syntax.Offset, err)
	}
	return refuse(http.StatusBadRequest, `%v; the object is {"rows": [...]}`, err)
}

// lineOf returns a row that is a line.
func lineOf(out *bytes.Buffer, row json.RawMessage) error {
	var text string
	if err := json.Unmarshal(row, &text); err != nil {
		return err
	}
	if strings.ContainsAny(text, "\n\r") {
		return errors.New("a line ends within the string; each row is one line")
	}
	if strings.TrimSpace(text) == "" {
		return errors.New("the string is empty; a row has values")
	}
	out.WriteString(text)
	return nil
}

// values writes a row that is an array as a line of a table, and returns the number of its values.
func values(out *bytes.Buffer, row json.RawMessage) (n int, err error) {
	in := json.NewDecoder(bytes.NewReader(row))
	in.UseNumber()
	if _, err := in.Token(); err != nil {
		return 0, err
	}
	for ; in.More(); n++ {
		if n > 0 {
			out.WriteByte(',')
		}
		cell, err := in.Token()
		if err != nil {
			return 0, err
		}
		switch v := cell.(type) {
		case json.Number:
			out.WriteString(v.String())
		case nil: // a value that is missing
		case string:
			if strings.ContainsAny(v, "\n\r") {
				return 0, fmt.Errorf("value %d has a line end, which no value has", n+1)
			}
			out.WriteString(`"` + strings.ReplaceAll(v, `"`, `""`) + `"`)
		default:
			return 0, fmt.Errorf("value %d is neither a number nor text nor null", n+1)
		}
	}
	if n == 0 {
		return 0, errors.New("the array is empty; a row has values")
	}
	return n, nil
}

// arrays is what a model takes as a row that is an array: so many values, of these columns. 0: nothing is known of them.
type arrays struct {
	values  int
	columns []string
	without string // what a row to predict has not
}

// arrays returns the shape of a row that is an array. The label has no value in it: an array of one value more would be read as a line of the training data, and each value as that of
// another column.
func (s *Served) arrays() arrays {
	opt := &s.of.Options
	switch {
	case s.of.Kind == data.Ratings:
		a := arrays{2, []string{"user", "item"}, "rating"}
		if as := opt.As; as != nil && as.User != nil && as.Item != nil && as.Item.Number < as.User.Number {
			slices.Reverse(a.columns)
		}
		return a
	case s.of.Kind != data.Examples:
		return arrays{}
	case opt.As == nil || !opt.As.Tabular():
		return arrays{values: opt.Features, without: "label"}
	}
	a := arrays{values: len(opt.As.Features) + len(opt.Ignore), without: "label"}
	for i := range opt.As.Features {
		if c := &opt.As.Features[i]; c.Name != "" && len(opt.Ignore) == 0 {
			a.columns = append(a.columns, c.Name)
		}
	}
	return a
}

// listedMost is how many columns an error lists.
const listedMost = 20

// check refuses an array of another length.
func (a arrays) check(values int) error {
	if a.values == 0 || values == a.values {
		return nil
	}
	named := ""
	if n := len(a.columns); n > 0 {
		named = ": " + strings.Join(a.columns[:min(n, listedMost)], ", ")
		if n > listedMost {
			named += ", …"
		}
	}
	return fmt.Errorf("the array has %s, and the model takes %d%s; the %s is not among them, and null is a missing value", figures.Plural(values, "value"), a.values, named, a.without)
}
