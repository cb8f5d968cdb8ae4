package mf

import (
	"math"
	"testing"

	"bellows/app"
	"bellows/model"
	"bellows/train"
)

// TestAStartPredictsAsItsModel fills first rows from a model, on ratings of another mean, and wants what it predicted.
func TestAStartPredictsAsItsModel(t *testing.T) {
	t.Parallel()
	set, _ := Made{Users: 40, Items: 30, Rank: 2, Each: 12, Noise: 0.1, Mean: 3, Unit: 1, Seed: 4}.Sets()
	r := *set.Ratings
	d := madePredictor(41, 30, 3) // it knows a user more
	names := func(list []string, n int) []string {
		return append(append([]string(nil), list...), "more")[:n]
	}
	old := &model.Model{App: name, Details: []byte(`{"l2":0.05,"bias_l2":0.1}`), Metrics: map[string]float64{"test_rmse": 0.5}, Tensors: []model.Tensor{
		{Name: userFactors, Shape: []int{41, 3}, Floats: d.uf}, {Name: itemFactors, Shape: []int{30, 3}, Floats: d.qf},
		{Name: userBias, Shape: []int{41}, Floats: d.ub}, {Name: itemBias, Shape: []int{30}, Floats: d.qb}, {Name: meanRating, Shape: []int{1}, Floats: []float32{3.5}},
	}, IDs: []model.IDs{{File: usersFile, Names: names(r.Users, 41)}, {File: itemsFile, Names: names(r.Items, 30)}}}
	d.mean = 3.5
	in := app.Input{Data: set, Seed: 1, From: old}
	c, v, err := configure(&in)
	if err != nil {
		t.Fatal(err)
	}
	c.chooseLoss(&in, v, &r)
	from, err := c.begin(&in, v, &r)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProblem(c, &r, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.start = newStart(from, &p.users, &p.items)
	if epoch, noise := p.start.schedule(&p.stepSchedule, p.scale.deviation); epoch < 1 || math.Abs(noise-min(1, 0.5/p.scale.deviation)) > 1e-12 {
		t.Errorf("epoch %d, noise %v", epoch, noise)
	} else if _, l2 := p.stepAt(epoch, noise); math.Abs(l2*p.scale.deviation/0.05-1) > 0.02 {
		t.Errorf("l2 is %v", l2*p.scale.deviation)
	}
	p.job(newPolicy(p).driver())
	tables := [][]float32{make([]float32, len(r.Users)*p.width), make([]float32, len(r.Items)*p.width)}
	for tab, a := range []*axis{&p.users, &p.items} {
		for part := range len(a.bounds) - 1 {
			p.refill(train.Table(tab), a, part, tables[tab][int(a.bounds[part])*p.width:])
		}
	}
	m, err := p.model(&r, nil, details{}, tables)
	if err != nil {
		t.Fatal(err)
	}
	got, err := open(m)
	if err != nil {
		t.Fatal(err)
	}
	for u := range int32(40) {
		for i := range int32(30) {
			if want := d.rating(u, i); math.Abs(float64(got.rating(u, i)-want)) > 1e-4*(1+math.Abs(float64(want))) {
				t.Fatalf("user %d, item %d: %v, want %v", u, i, got.rating(u, i), want)
			}
		}
	}
	// Somebody new begins with small values.
	p.start.ids[usersTable][0] = -1
	row := make([]float32, p.width)
	if p.start.fill(usersTable, 0, p.scale, true, row) {
		t.Error("a new user's row was filled")
	}
}
