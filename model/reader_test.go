package model_test

import (
	"math"
	"strings"
	"testing"

	"bellows"
	"bellows/model"
)

// TestReaderKeepsFirstError reads one model in many wrong ways, and in the right one.
func TestReaderKeepsFirstError(t *testing.T) {
	t.Parallel()
	m := &model.Model{App: "knn", Details: []byte(`{"k":3}`), Tensors: []model.Tensor{
		{Name: "points", Shape: []int{2, 3}, Floats: []float32{1, 2, 3, 4, 5, 6}},
		{Name: "labels", Shape: []int{2}, Counts: []int32{7, 8}},
		{Name: "none", Shape: []int{0}},
		{Name: "wild", Shape: []int{2}, Floats: []float32{1, float32(math.Inf(-1))}},
	}}
	var details struct{ K int }
	r := m.Reader("knn")
	points, labels := r.Floats("points", 2, model.Any), r.Counts("labels", model.Any)
	r.ReadDetails(&details)
	if r.Err() != nil || len(points) != 6 || len(labels) != 2 || details.K != 3 {
		t.Errorf("%v, %v, %v, %+v", r.Err(), points, labels, details)
	}
	for want, read := range map[string]func(r *model.Reader){
		"tensor weights is missing": func(r *model.Reader) {
			r.Floats("weights",
				2)
			r.Counts("points", 2)
		},
		"tensor points is F32 of shape [2 3]":           func(r *model.Reader) { r.Floats("points", 3, model.Any) },
		"the rest needs F32 of shape [2]":               func(r *model.Reader) { r.Floats("points", 2) },
		"the rest needs I32 of shape [2 3]":             func(r *model.Reader) { r.Counts("points", 2, 3) },
		"the rest needs F32 of shape [-1], where -1 is": func(r *model.Reader) { r.Floats("none", model.Any) },
		"tensor wild holds -Inf":                        func(r *model.Reader) { r.Floats("wild", 2) },
		"its details are not those of knn":              func(r *model.Reader) { r.ReadDetails(new(int)) },
		"k is 3": func(r *model.Reader) {
			r.Refuse("k is %d",
				3)
			r.Floats("weights")
		},
	} {
		r := m.Reader("knn")
		read(r)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), want) ||
			bellows.KindOf(err) != bellows.BadData {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := m.Reader("mf").Err(); err == nil ||
		!strings.Contains(err.Error(), `it was made by "knn" and is no model of mf`) {
		t.Error(err)
	}
}
