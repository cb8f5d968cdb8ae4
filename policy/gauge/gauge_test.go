package gauge

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"bellows/internal/require"
)

// good holds valid figures, from which tests make others.
const good = `{"items": 1000, "clocks": {"epoch": 10, "measured": 40, "passed": 43, "expected": 100},
"tables": [1, 1], "partitions": [{"node": 1, "lane": 1, "bytes": 5, "near": 0}, {"node": 1, "lane": 0, "bytes": 7}],
"splits": [{"node": 0, "bytes": 100, "moved": 3}, {"node": 0, "bytes": 0}],
"nodes": [
 {"id": 0, "machine": "a", "works": true, "slots": 2, "lanes": 2,
  "item_seconds": {"value": 2, "low": 1, "high": 3}, "row_seconds": 0.1,
  "others": 0, "in": {"value": 9, "low": 9}, "out": 8, "memory": 1000},
 {"id": 1, "serves": true, "slots": 0, "lanes": 2, "item_seconds": 1, "row_seconds": 0.1, "others": 0.5, "in": 9,
  "out": 8},
 {"id": 4, "slots": 2, "lanes": 2, "item_seconds": 1, "row_seconds": 0.1, "others": 0, "in": 9, "out": 8}],
"leads": 0, "pairs": [{"from": 0, "to": 1, "rate": 4}],
"traffic": [{"splits": 1, "pulled": 10, "pushed": 10, "rows": 2},
 {"splits": 2, "pulled": 15, "pushed": 15, "rows": 3}],
"hidden": {"pulled": 0, "pushed": 0.5, "applied": 1}, "budget": 100,
"moved": {"byte_seconds": 0.1, "step_seconds": 1}}`

// TestReadFiguresOfJob: the present shape and the job are those of the figures, and what is written is read again.
func TestReadFiguresOfJob(t *testing.T) {
	t.Parallel()
	f, err := Read([]byte(good))
	require.NoError(t, err)
	if v := f.Nodes[0].In; v.Low != 9 || !math.IsInf(v.High, 1) {
		t.Errorf("a link without an upper bound has %+v", v)
	}
	if v := f.Nodes[0].Item; v != (Interval{2, 1, 3}) {
		t.Errorf("seconds of an item are %+v", v)
	}
	s, j := f.Shape(), f.Job()
	if workers, servers := s.Counts(); workers != 1 || servers != 1 || len(s.Nodes) != 2 {
		t.Errorf("the shape is %+v", s)
	}
	if !reflect.DeepEqual(j.Near, []int{0, -1}) {
		t.Errorf("partitions are near %v", j.Near)
	}
	text, err := json.Marshal(f)
	require.NoError(t, err)
	again, err := Read(text)
	if err != nil || !reflect.DeepEqual(again, f) {
		t.Errorf("%s is read as %+v, %v, not %+v", text, again, err, f)
	}
}

// TestReadRefusesByPath: the error names the field, and what to do.
func TestReadRefusesByPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, new, want string }{
		{`{"items"`, `[{"items"`, "it is no JSON at byte"},
		{good, `[]`, "it is a list; write an object"},
		{`"items": 1000,`, ``, "items: the field is missing; add it"},
		{`"items": 1000`, `"items": 1000, "items": 1`, "items: the field is there twice; remove one"},
		{`"items": 1000`, `"items": -1`, "items: it is -1; write a whole number from 0"},
		{`"items": 1000`, `"items": 1e300`, "items: it is 1e300; write a whole number from 0"},
		{`"items": 1000`, `"items": 0`, "items: 0 is out of range; it must be from 1 to"},
		{`"items": 1000`, `"itmes": 1, "items": 1000`, "itmes: there is no such field; remove it, or write one of"},
		{`"measured": 40`, `"measured": 44`, "clocks.passed: 43 is out of range; it must be from 44"},
		{`"bytes": 7`, `"bytes": "7"`, `partitions[1].bytes: it is "7"; write a whole number from 0`},
		{`"near": 0`, `"near": 2`, "partitions[0].near: 2 is out of range; it must be from 0 to 1"},
		{`"near": 0`, `"near": null`, "partitions[0].near: it is null"},
		{`"tables": [1, 1]`, `"tables": [1]`, "tables: they have 1 partitions, and 2 are listed"},
		{`"works": true`, `"works": 1`, "nodes[0].works: it is 1; write true or false"},
		{`"works": true, "slots": 2`, `"works": true, "slots": 0`, "nodes[0].works: the node runs tasks"},
		{`"low": 1, "high": 3`, `"low": 2.5, "high": 3`, "item_seconds: value 2 is not between low 2.5"},
		{`"low": 1, "high": 3`, `"low": 1`, "nodes[0].item_seconds: there is no high; add one"},
		{`"low": 1, "high": 3`, `"high": 3`, "nodes[0].item_seconds.low: the field is missing"},
		{`"low": 1, "high": 3`, `"low": 1, "high": 3, "mean": 2`, "nodes[0].item_seconds.mean: there is no such field"},
		{`"in": {"value": 9, "low": 9}`, `"in": true`, `nodes[0].in: it is true; write a number, or {"value"`},
		{`"in": {"value": 9, "low": 9}`, `"in": 0`, "nodes[0].in: 0 to 0 is out of range; it must be from 1"},
		{`"others": 0.5`, `"others": 1`, "nodes[1].others: 1 to 1 is out of range"},
		{`"id": 4`, `"id": 1`, "nodes[2].id: 1 comes after 1; give nodes in the order"},
		{`"id": 4`, `"id": 70000`, "nodes[2].id: it is 70000; write a whole number"},
		{`"machine": "a"`, `"machine": {}`, "nodes[0].machine: it is an object; write a text"},
		{`"leads": 0`, `"leads": 9`, "leads: node 9 is not among the nodes"},
		{`"to": 1`, `"to": 0`, "pairs[0].to: node 0 is not another of the nodes"},
		{`"splits": 2, "pulled"`, `"splits": 1, "pulled"`, "traffic[1].splits: 1 comes after 1"},
		{`"applied": 1`, `"applied": 2`, "hidden.applied: 2 to 2 is out of range; it must be from 0 to 1"},
		{`"step_seconds": 1`, `"step_seconds": -1`, "moved.step_seconds: -1 to -1 is out of range"},
		{`"budget": 100`, `"budget": -1`, "budget: -1 to -1 is out of range"},
		{`"serves": true`, `"serves": false`, "nodes: works and serves, with"},
		{`"step_seconds": 1}}`, `"step_seconds": 1}} 1`, "there is text after the object"},
		{`"tables": [1, 1]`, `"tables": [[[[[[[[[]]]]]]]]]`, "more than 8 deep"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%q is not in it", c.old)
		}
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.new, err, c.want)
		}
	}
	if _, err := Read(make([]byte, TextMost+1)); err == nil || !strings.Contains(err.Error(), "more than 16 MiB") {
		t.Errorf("a long text: %v", err)
	}
	many := `[` + strings.Repeat("0,", valuesMost) + `0]`
	if _, err := Read([]byte(many)); err == nil || !strings.Contains(err.Error(), "values") {
		t.Errorf("many values: %v", err)
	}
}

// FuzzRead: figures are refused, or written and read again as the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, text []byte) {
		is, err := Read(text)
		if err != nil {
			return
		}
		out, err := json.Marshal(is)
		require.NoError(t, err)
		again, err := Read(out)
		if err != nil || len(again.Nodes) != len(is.Nodes) || again.Clocks != is.Clocks {
			t.Fatalf("%s is read as %+v, %v", out, again, err)
		}
	})
}
