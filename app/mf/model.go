package mf

import (
	"encoding/json"
	"io"
	"math"
	"sync"

	"bellows"
	"bellows/app"
	"bellows/app/mf/internal/ranked"
	"bellows/app/mf/internal/seen"
	"bellows/data"
	"bellows/model"
	"bellows/progress"
	"bellows/train"
	"bellows/vec"
)

// Names of the model's tensors and id files.
const (
	userFactors = "user_factors" // [users, rank]
	itemFactors = "item_factors" // [items, rank]
	userBias    = "user_bias"    // [users]
	itemBias    = "item_bias"    // [items]
	meanRating  = "mean"         // [1]
	usersFile   = "users.txt"
	itemsFile   = "items.txt"
)

// model turns the tables' values into tensors: rows in the order of the data's ids, on the scale
// of the ratings. A user or an item without a training rating has zeros, so that it is predicted
// from what is known.
func (p *problem) model(set *data.RatingSet, settings map[string]string, folding details, tables [][]float32) (*model.Model, error) {
	uf, ub := p.unpack(&p.users, tables[usersTable])
	qf, qb := p.unpack(&p.items, tables[itemsTable])
	for _, values := range [][]float32{uf, ub, qf, qb} {
		if !(vec.AbsMax(values) < math.MaxFloat32) {
			return nil, bellows.Errorf(bellows.BadData, "make model", name, "training diverged: some factors are not finite").
				Hinted("look for wild ratings in the data, or set a smaller lr")
		}
	}
	folding.Origin = set.Origin
	about, err := json.Marshal(folding)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "make model", name, "%w", err)
	}
	m := &model.Model{
		App: name, Settings: settings, Details: about,
		Tensors: []model.Tensor{
			{Name: userFactors, Shape: []int{len(set.Users), p.rank}, Floats: uf},
			{Name: itemFactors, Shape: []int{len(set.Items), p.rank}, Floats: qf},
			{Name: userBias, Shape: []int{len(set.Users)}, Floats: ub},
			{Name: itemBias, Shape: []int{len(set.Items)}, Floats: qb},
			{Name: meanRating, Shape: []int{1}, Floats: []float32{float32(p.scale.mean)}},
		},
		IDs: []model.IDs{{File: usersFile, Names: set.Users}, {File: itemsFile, Names: set.Items}},
	}
	if p.seen {
		m.Tensors = append(m.Tensors, model.Tensor{Name: seenTensor, Shape: []int{0}, Bytes: p.seenBy(set)})
		last := &m.Tensors[len(m.Tensors)-1]
		last.Shape[0] = len(last.Bytes)
	}
	return m, nil
}

// unpack copies a table's rows to factors and biases in the order of the ids. The product of two
// rows carries the ratings' deviation, so each row carries its root.
func (p *problem) unpack(a *axis, slab []float32) (factors, biases []float32) {
	factors, biases = make([]float32, len(a.row)*p.rank), make([]float32, len(a.row))
	root := float32(math.Sqrt(p.scale.deviation))
	for id, row := range a.row {
		if a.count[id] == 0 {
			continue
		}
		from := slab[int(row)*p.width:][:p.width]
		to := factors[id*p.rank:][:p.rank]
		copy(to, from)
		vec.Scale(root, to)
		if p.biases {
			biases[id] = float32(p.scale.deviation) * from[p.rank]
		}
	}
	return factors, biases
}

// predictor answers for one model.
type predictor struct {
	rank     int
	mean     float32
	known    data.RatingSet       // its ids alone
	uf, qf   []float32            // factors of users and of items
	ub, qb   []float32            // their biases
	seen     *seen.Items          // nil where the model does not say
	implicit bool                 // pairs are no ratings: loss=weighted
	index    func() [2]data.Index // where its users and items are
	folding  details              // for fitting new users; zero in models without it
	meter    *progress.Meter
}

// Share implements app.Shared.
func (d *predictor) Share() app.Predictor {
	q := *d
	q.meter = nil
	return &q
}

// indexOf returns where users and items are, found out when it is first asked for.
func indexOf(known *data.RatingSet) func() [2]data.Index {
	users, items := known.Users, known.Items
	return sync.OnceValue(func() [2]data.Index { return [2]data.Index{data.NewIndex(users), data.NewIndex(items)} })
}

// indices returns those of the users and items of each row in the model, -1 where it does not know them.
func (d *predictor) indices(r *data.RatingSet) (user, item []int32) {
	x := d.index()
	return r.IndicesBy(x[0], x[1])
}

// Pace implements app.Paced.
func (d *predictor) Pace(m *progress.Meter) { d.meter = m }

// scoreStep is how many ratings are scored between two checks of the context, and scoreMost bounds how many are scored
// at once.
const (
	scoreStep = 4096
	scoreMost = 64 * scoreStep
)

// deviations calls f with each rating less its prediction, in their order. Predictions are made on all processors.
func (d *predictor) deviations(user, item []int32, rating []float32, f func(deviation float64)) {
	d.meter.Begin(progress.Part{Doing: "scoring", Unit: "ratings", Total: int64(len(rating))})
	predicted := make([]float32, min(scoreMost, len(rating)))
	for first := 0; first < len(rating); first += len(predicted) {
		some := rating[first:min(first+len(predicted), len(rating))]
		app.ForEach((len(some)+scoreStep-1)/scoreStep, func(i int) {
			from, end := i*scoreStep, min((i+1)*scoreStep, len(some))
			if d.meter.Add(int64(end-from)) != nil {
				return
			}
			for j := from; j < end; j++ {
				predicted[j] = d.rating(user[first+j], item[first+j])
			}
		})
		if d.meter.Err() != nil {
			return
		}
		for j, want := range some {
			f(float64(want) - float64(predicted[j]))
		}
	}
}

// Open checks that the model's tensors and ids fit each other.
func (application) Open(m *model.Model) (app.Predictor, error) { return open(m) }

func open(m *model.Model) (*predictor, error) {
	r := m.Reader(name)
	users, items := m.Names(usersFile), m.Names(itemsFile)
	uf := r.Floats(userFactors, len(users), model.Any)
	rank := len(uf) / max(1, len(users))
	d := &predictor{
		rank: rank, known: data.RatingSet{Users: users, Items: items}, uf: uf, qf: r.Floats(itemFactors, len(items), rank),
		ub: r.Floats(userBias, len(users)), qb: r.Floats(itemBias, len(items)),
	}
	d.index = indexOf(&d.known)
	if mean := r.Floats(meanRating, 1); mean != nil {
		d.mean = mean[0]
	}
	if len(m.Details) > 0 {
		r.ReadDetails(&d.folding)
		d.implicit = d.folding.Unobserved > 0
	}
	if r.Err() == nil {
		d.seen = openSeen(r, len(users), len(items))
	}
	return d, r.Err()
}

// ratings returns the set's columns, with ratings counted as the model counts them.
func (d *predictor) ratings(set *data.Set) (*data.RatingSet, error) {
	r, err := ratings(set)
	return r.CountedFrom(d.folding.Origin), err
}

// Read says that the model reads ratings.
func (d *predictor) Read() (data.Kind, data.Options) {
	return data.Ratings, data.Options{Unlabelled: d.implicit}
}

// rating predicts for a user and an item, -1 where the model does not know them.
func (d *predictor) rating(user, item int32) float32 {
	r := d.mean
	if user >= 0 {
		r += d.ub[user]
	}
	if item >= 0 {
		r += d.qb[item]
	}
	if user >= 0 && item >= 0 {
		p, q := int(user)*d.rank, int(item)*d.rank
		r += vec.Dot(d.uf[p:p+d.rank], d.qf[q:q+d.rank])
	}
	return r
}

// Unknown counts the distinct users and items of the data that the model does not know, and the rows that have one. A
// user whose ratings were all held out is known by name only, and predicted like an unknown one.
func (d *predictor) Unknown(set *data.Set, _ bool) map[string]int64 {
	counts := map[string]int64{}
	if set.Ratings == nil {
		return counts
	}
	user, item := d.indices(set.Ratings)
	for j := range user {
		if user[j] < 0 || item[j] < 0 {
			counts["rows"]++
		}
	}
	d.EachUnknown(set, func(what, _ string) { counts[what]++ })
	return counts
}

// EachUnknown implements app.Acquainted. The ids of a set are those of its rows, each once.
func (d *predictor) EachUnknown(set *data.Set, f func(what, name string)) {
	if set.Ratings == nil {
		return
	}
	x := d.index()
	used := [2][]bool{make([]bool, len(set.Ratings.Users)), make([]bool, len(set.Ratings.Items))}
	for j, u := range set.Ratings.User {
		used[0][u], used[1][set.Ratings.Item[j]] = true, true
	}
	for k, names := range [2][]string{set.Ratings.Users, set.Ratings.Items} {
		for i, at := range x[k].Numbers(names) {
			if at < 0 && used[k][i] {
				f([2]string{"users", "items"}[k], names[i])
			}
		}
	}
}

// Evaluate returns the root mean squared error on the scale of the ratings, pairs with an unknown user
// or item included; with loss=weighted it is the quality of the first ten of rankings.
func (d *predictor) Evaluate(set *data.Set) ([]train.Metric, error) {
	r, err := d.ratings(set)
	if err != nil {
		return nil, err
	}
	user, item := d.indices(r)
	if d.implicit {
		first := []ranked.Metric{{Sort: "ndcg", K: rankedFirst}}
		if err := d.rankAll(first, user, item, r.Rating); err != nil {
			return nil, err
		}
		return []train.Metric{{Name: "ndcg_at_10", Value: first[0].Sum}}, nil
	}
	var sum float64
	d.deviations(user, item, r.Rating, func(e float64) { sum += e * e })
	return []train.Metric{{Name: "rmse", Value: rms(sum, len(r.Rating))}}, nil
}

// Predict writes one prediction per line, in the order of the data.
func (d *predictor) Predict(set *data.Set, out io.Writer) error {
	r, err := ratings(set)
	if err != nil {
		return err
	}
	user, item := d.indices(r)
	return app.WriteLines(out, len(user), func(line []byte, j int) []byte {
		return app.AppendNumber(line, d.folding.Origin, float64(d.rating(user[j], item[j])))
	})
}
