package verbs

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestPredictionLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := &predictionLines{to: json.NewEncoder(&out)}
	for _, part := range []string{"1.5\n2\t0.", "25\nlab", "el\nNaN\n"} {
		if n, err := p.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	want := `{"row":1,"prediction":1.5}
{"row":2,"prediction":[2,0.25]}
{"row":3,"prediction":"label"}
{"row":4,"prediction":"NaN"}
`
	if out.String() != want {
		t.Errorf("the lines are\n%snot\n%s", out.String(), want)
	}
}
