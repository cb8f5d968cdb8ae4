package mf

import (
	"bytes"
	"maps"
	"math"
	"strings"
	"testing"

	"bellows"
	"bellows/app/apptest"
	"bellows/data"
	"bellows/model"
	"bellows/random"
)

// tiny returns a model of two users and two items at rank 1.
func tiny() *model.Model {
	return &model.Model{App: "mf",
		Tensors: []model.Tensor{
			{Name: userFactors, Shape: []int{2, 1}, Floats: []float32{1, 2}},
			{Name: itemFactors, Shape: []int{2, 1}, Floats: []float32{0.5, -1}},
			{Name: userBias, Shape: []int{2}, Floats: []float32{0.25, 0}},
			{Name: itemBias, Shape: []int{2}, Floats: []float32{0, 1}},
			{Name: meanRating, Shape: []int{1}, Floats: []float32{3}},
		},
		IDs: []model.IDs{{File: usersFile, Names: []string{"ann", "bob"}}, {File: itemsFile, Names: []string{"x", "y"}}},
	}
}

// pairs numbers its own ids, in another order than the model's.
func pairs() *data.Set {
	return &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{
		Users: []string{"bob", "eve", "ann"}, Items: []string{"y", "z", "x"},
		User: []int32{2, 0, 1, 2, 1}, Item: []int32{2, 0, 0, 1, 1}, Rating: []float32{3, 3, 3, 3, 3},
	}}
}

func TestPredictFromWhatIsKnown(t *testing.T) {
	p, err := application{}.Open(tiny())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Predict(pairs(), &out); err != nil {
		t.Fatal(err)
	}
	// ann x: 3+0.25+0+0.5; bob y: 3+0+1-2; eve y: 3+1; ann z: 3+0.25; eve z: 3.
	if got, want := out.String(), "3.75\n2\n4\n3.25\n3\n"; got != want {
		t.Errorf("predictions %q, want %q", got, want)
	}
	metrics := apptest.Evaluate(t, p, pairs())
	want := math.Sqrt((0.75*0.75 + 1 + 1 + 0.25*0.25) / 5)
	if len(metrics) != 1 || metrics[0].Name != "rmse" || math.Abs(metrics[0].Value-want) > 1e-6 {
		t.Errorf("metrics %v, want rmse %v", metrics, want)
	}
}

func TestOpenRefusesWhatDoesNotFit(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(m *model.Model)
		want  string
	}{
		{"other application", func(m *model.Model) { m.App = "mlr" }, `it was made by "mlr"`},
		{"no factors", func(m *model.Model) { m.Tensors = m.Tensors[1:] }, "tensor user_factors is missing"},
		{"no bias", func(m *model.Model) { m.Tensors = append(m.Tensors[:2], m.Tensors[3:]...) }, "tensor user_bias is missing"},
		{"other rank", func(m *model.Model) {
			m.Tensors[1].Shape = []int{2, 2}
			m.Tensors[1].Floats = make([]float32, 4)
		}, "tensor item_factors is F32 of shape [2 2] with 4 values; the rest needs F32 of shape [2 1]"},
		{"fewer ids", func(m *model.Model) { m.IDs[0].Names = m.IDs[0].Names[:1] }, "tensor user_factors is F32 of shape [2 1] with 2 values; the rest needs F32 of shape [1 -1]"},
		{"counts", func(m *model.Model) {
			m.Tensors[4] = model.Tensor{Name: meanRating, Shape: []int{1}, Counts: []int32{3}}
		}, "tensor mean is I32"},
		{"NaN", func(m *model.Model) { m.Tensors[3].Floats[0] = float32(math.NaN()) }, "tensor item_bias holds NaN"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := tiny()
			tt.spoil(m)
			_, err := application{}.Open(m)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if bellows.KindOf(err) != bellows.BadData {
				t.Errorf("kind %v", bellows.KindOf(err))
			}
		})
	}
}

func TestModelPredictsAsTheTablesDo(t *testing.T) {
	p := problemFor(t, small, config{schedule: strata, splits: 3, rank: 5, biases: true, step: 1})
	set, _ := small.Sets()
	slab := func(a *axis, seed uint64) []float32 {
		s := make([]float32, len(a.row)*p.width)
		for i := range s {
			s[i] = float32(random.Derive(seed, uint64(i))%1000)/500 - 1
		}
		return s
	}
	tables := [][]float32{slab(&p.users, 1), slab(&p.items, 2)}
	m, err := p.model(set.Ratings, nil, details{}, tables)
	if err != nil {
		t.Fatal(err)
	}
	d, err := application{}.Open(m)
	if err != nil {
		t.Fatal(err)
	}
	for u := range int32(10) {
		for i := range int32(10) {
			want := p.scale.mean + p.scale.deviation*float64(p.predict(p.users.row[u], p.items.row[i], tables[0], tables[1]))
			if got := float64(d.(*predictor).rating(u, i)); math.Abs(got-want) > 1e-4 {
				t.Fatalf("user %d, item %d: model %v, tables %v", u, i, got, want)
			}
		}
	}
	tables[1][3] = float32(math.Inf(1))
	if _, err := p.model(set.Ratings, nil, details{}, tables); bellows.KindOf(err) != bellows.BadData {
		t.Errorf("a table that is not finite makes a model: %v", err)
	}
}

func TestModelKnowsNothingOfUnratedIds(t *testing.T) {
	set, _ := small.Sets()
	r := set.Ratings
	r.Users, r.Items = append(r.Users, "silent"), append(r.Items, "unseen")
	p, err := newProblem(config{schedule: strata, splits: 3, rank: 2, biases: true, step: 1}, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	tables := [][]float32{make([]float32, len(r.Users)*p.width), make([]float32, len(r.Items)*p.width)}
	for _, slab := range tables {
		for i := range slab {
			slab[i] = 1
		}
	}
	m, err := p.model(r, nil, details{}, tables)
	if err != nil {
		t.Fatal(err)
	}
	user, item := len(r.Users)-1, len(r.Items)-1
	if b := m.Tensor(userBias).Floats[user]; b != 0 {
		t.Errorf("a user without ratings has bias %v", b)
	}
	if f := m.Tensor(itemFactors).Floats[2*item:]; f[0] != 0 || f[1] != 0 {
		t.Errorf("an item without ratings has factors %v", f)
	}
	if m.Tensor(userBias).Floats[0] == 0 {
		t.Error("a user with ratings lost the bias")
	}
}

func TestUnknownUsersAndItemsAreCounted(t *testing.T) {
	t.Parallel()
	d := &predictor{known: data.RatingSet{Users: []string{"a", "b"}, Items: []string{"x"}}}
	d.index = indexOf(&d.known)
	set := &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{Users: []string{"c", "a", "d"}, Items: []string{"y", "x"},
		User: []int32{0, 0, 1, 1, 2}, Item: []int32{0, 1, 0, 1, 0}, Rating: make([]float32, 5)}}
	want := map[string]int64{"users": 2, "items": 1, "rows": 4}
	if got := d.Unknown(set, true); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	set.Ratings.User, set.Ratings.Item = []int32{1}, []int32{1}
	if got := d.Unknown(set, false); len(got) > 0 {
		t.Errorf("of known ones %v", got)
	}
}
