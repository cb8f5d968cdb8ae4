package verbs

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows/run/event"
)

// TestTheSchemaKnowsEveryEvent holds the schema of train against package event: the kinds, and the names of all fields.
func TestTheSchemaKnowsEveryEvent(t *testing.T) {
	t.Parallel()
	text, err := schemas.ReadFile("schema/train.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct{ Const string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var kinds []event.Kind
	fields := map[string]bool{}
	for _, def := range schema.Defs {
		if kind := def.Properties["kind"].Const; kind != "" {
			kinds = append(kinds, event.Kind(kind))
			for name := range def.Properties {
				fields[name] = true
			}
		}
	}
	slices.Sort(kinds)
	known := []event.Kind{event.Started, event.Stated, event.Visited, event.Passed, event.Resumed, event.RolledBack, event.TakenOver, event.Checkpoint, event.Joined, event.Left, event.Gone, event.Moved, event.Plan, event.Epoch, event.Fold, event.Waiting, event.Lost, event.Failed, event.Interrupted, event.Finished}
	slices.Sort(known)
	if !slices.Equal(kinds, known) {
		t.Errorf("the schema has the kinds %v, package event %v", kinds, known)
	}
	if has, want := slices.Sorted(maps.Keys(fields)), slices.Sorted(slices.Values(jsonNames(reflect.TypeFor[event.Event]()))); !slices.Equal(has, want) {
		t.Errorf("the schema has the fields %v, package event %v", has, want)
	}
}

// jsonNames returns those of a struct's fields, and of the structs that it embeds.
func jsonNames(s reflect.Type) (list []string) {
	for f := range s.Fields() {
		if f.Anonymous {
			list = append(list, jsonNames(f.Type.Elem())...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		list = append(list, name)
	}
	return list
}
