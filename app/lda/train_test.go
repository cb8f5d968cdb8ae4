package lda

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/app/epochs"
	"bellows/data"
	"bellows/model"
	"bellows/table"
	"bellows/train"
	"bellows/train/traintest"
)

// planted returns documents of a few topics with words of their own: topic k has the words 8k to 8k+7.
func planted(documents, topics int, seed uint64) *data.Set {
	var docs [][]int32
	rng := newStream(seed, 0, 0, 0)
	for range documents {
		a, b := rng.below(topics), rng.below(topics)
		d := make([]int32, 20+rng.below(30))
		for i := range d {
			k := a
			if rng.below(4) == 0 {
				k = b
			}
			d[i] = int32(8*k + min(rng.below(8), rng.below(8)))
		}
		slices.Sort(d)
		docs = append(docs, d)
	}
	return setOf(docs, 8*topics)
}

// trained makes the run of an input and trains it to its end.
func trained(t *testing.T, in app.Input, slots int) (*app.Run, [][]float32, []train.Epoch) {
	t.Helper()
	return apptest.Trained(t, New(), in, slots)
}

// consistent wants the tables to say the same of every token: its topic counts once for its word, and
// once in the totals.
func consistent(t *testing.T, in app.Input, tables [][]float32) {
	t.Helper()
	p := problemOf(t, in)
	counts, totals := make([]int32, len(tables[wordTable])), make([]int32, p.topics)
	state := table.Counts(tables[stateTable])
	for s := range p.splits {
		own := state[int(p.state[s])*stateWidth:]
		for c := range p.clocks {
			u := &p.portions[s*p.clocks+c]
			for i, j := range u.token {
				k := own[u.first+i]
				counts[int(u.words[j])*p.width*p.chunks+int(k)]++
				totals[k]++
			}
		}
	}
	if !slices.Equal(counts, table.Counts(tables[wordTable])) || !slices.Equal(totals, table.Counts(tables[topicTable])) {
		t.Error("the counts are not those of the tokens' topics")
	}
}

// Planted topics come back: held-out documents are predicted nearly as by the topics that made them,
// by either sampler, in rows of any width, under any consistency.
func TestTrainingFindsPlantedTopics(t *testing.T) {
	t.Parallel()
	set := planted(400, 6, 1)
	for name, c := range map[string]struct {
		settings  map[string]string
		staleness int
	}{
		"sparse":      {map[string]string{"topics": "6"}, 1},
		"mh":          {map[string]string{"topics": "6", "sampler": "mh"}, 1},
		"many topics": {map[string]string{"topics": "150", "clocks": "2", "splits": "3"}, 0},
		"many, mh":    {map[string]string{"topics": "150", "sampler": "mh"}, 0},
		"async":       {map[string]string{"topics": "6", "clocks": "3"}, -1},
	} {
		in := app.Input{Data: set, Seed: 1, Epochs: 40, Staleness: &c.staleness, Settings: c.settings}
		run, tables, epochs := trained(t, in, 2)
		consistent(t, in, tables)
		first, last := epochs[0].Metrics, epochs[len(epochs)-1].Metrics
		test := apptest.Metric(t, last, "test_loglik_per_token")
		if test < -2.75 || test < run.Baseline.Value+0.6 || apptest.Metric(t, last, "train_loglik_per_token") < apptest.Metric(t, first, "train_loglik_per_token")+0.3 {
			t.Errorf("%s: from %v to %v, word frequencies %v", name, first, last, run.Baseline.Value)
		}
		if epochs[39].Items != 40*run.Items {
			t.Errorf("%s: %d tokens visited, not %d", name, epochs[39].Items, 40*run.Items)
		}
	}
}

func TestBSPModelIgnoresSlots(t *testing.T) {
	t.Parallel()
	bsp := 0
	for _, sampler := range []string{samplerSparse, samplerMH} {
		in := app.Input{Data: planted(120, 4, 2), Seed: 3, Epochs: 15, Staleness: &bsp,
			Settings: map[string]string{"topics": "8", "clocks": "2", "splits": "6", "sampler": sampler}}
		_, one, _ := trained(t, in, 1)
		_, three, _ := trained(t, in, 3)
		for i := range one {
			if !slices.Equal(table.Counts(one[i]), table.Counts(three[i])) {
				t.Errorf("%s: table %d differs", sampler, i)
			}
		}
		in.Seed = 4
		if _, other, _ := trained(t, in, 1); slices.Equal(table.Counts(one[0]), table.Counts(other[0])) {
			t.Errorf("%s: the seed makes no difference", sampler)
		}
	}
}

// TestEarlyStopKeepsTheBest checks that a run without a number of epochs stops, and returns its best epoch: Evaluate
// agrees with the driver's figures of that epoch.
func TestEarlyStopKeepsTheBest(t *testing.T) {
	t.Parallel()
	set := planted(300, 5, 3)
	in := app.Input{Data: set, Seed: 1, Settings: map[string]string{"topics": "12", "patience": "4"}}
	run, tables, epochs := trained(t, in, 2)
	if len(epochs) == epochsDefault {
		t.Fatal("it did not stop")
	}
	m := apptest.Model(t, run, tables)
	_, held := data.HoldOut(1, set.Rows(), data.HeldAlone)
	p := apptest.Open(t, New(), m)
	got := apptest.Evaluate(t, p, set.Select(held))
	best := math.Inf(-1)
	for _, e := range epochs {
		best = max(best, apptest.Metric(t, e.Metrics, "test_loglik_per_token"))
	}
	if v := apptest.Metric(t, got, "loglik_per_token"); math.Abs(v-best) > 1e-4 {
		t.Errorf("the model has %v, the best epoch had %v", v, best)
	}
	// The counts of the last sweeps are added up, and so is β.
	last, d := table.Counts(tables[sumTopicTable]), details{}
	sum := int64(0)
	for _, n := range last {
		sum += int64(n)
	}
	if n := sum / run.Items; n < 1 || n > samples || sum%run.Items != 0 || json.Unmarshal(m.Details, &d) != nil || math.Abs(d.Beta-0.05*float64(n)) > 1e-12 {
		t.Errorf("the sums have %d tokens of %d, and β is %v", sum, run.Items, d.Beta)
	}
	if best < apptest.Metric(t, epochs[len(epochs)-1-samples].Metrics, "test_loglik_per_token") {
		t.Error("sums of sweeps predict worse than the last sweep before them")
	}
}

func TestGoalEndsTheRun(t *testing.T) {
	t.Parallel()
	in := app.Input{Data: planted(200, 4, 4), Test: planted(50, 4, 5), Seed: 1, Epochs: 200,
		Goal: &app.Goal{Metric: "test_loglik_per_token", Value: -2.9}, Settings: map[string]string{"topics": "4"}}
	_, _, epochs := trained(t, in, 2)
	last := apptest.Metric(t, epochs[len(epochs)-1].Metrics, "test_loglik_per_token")
	if last < -2.9 || len(epochs) == 200 || len(epochs) > 1 && apptest.Metric(t, epochs[len(epochs)-2].Metrics, "test_loglik_per_token") >= -2.9 {
		t.Errorf("%d epochs, the last at %v", len(epochs), last)
	}
}

// completion returns the slow reference of a document's likelihood, straight from the definitions.
func completion(m *model.Model, d details, word, count []int32) (sum, scored float64) {
	counts, totals := m.Tensor(wordTopic).Counts, m.Tensor(topicTotal).Counts
	k, v := len(totals), float64(len(counts)/len(totals))
	phi := func(w int32, t int) float64 {
		return (float64(counts[int(w)*k+t]) + d.Beta) / (float64(totals[t]) + d.Beta*v)
	}
	var fold, score []int32
	for i, w := range word {
		for range count[i] {
			if (len(fold)+len(score))%2 == 0 {
				fold = append(fold, w)
			} else {
				score = append(score, w)
			}
		}
	}
	n, total := make([]float64, k), float64(len(fold))
	for _, a := range d.Alpha {
		total += a
	}
	for range foldSteps {
		next := make([]float64, k)
		for _, w := range fold {
			z := 0.0
			for t := range n {
				z += (n[t] + d.Alpha[t]) * phi(w, t)
			}
			for t := range n {
				next[t] += (n[t] + d.Alpha[t]) * phi(w, t) / z
			}
		}
		n = next
	}
	for _, w := range score {
		p := 0.0
		for t := range n {
			p += (n[t] + d.Alpha[t]) / total * phi(w, t)
		}
		sum += math.Log(p)
	}
	return sum, float64(len(score))
}

func TestEvaluateIsTheDefinition(t *testing.T) {
	t.Parallel()
	run, tables, _ := trained(t, app.Input{Data: planted(100, 4, 6), Seed: 1, Epochs: 12, Settings: map[string]string{"topics": "7"}}, 2)
	m := apptest.Model(t, run, tables)
	p, err := openModel(m)
	if err != nil {
		t.Fatal(err)
	}
	alpha := make([]float64, 7)
	for k, a := range p.alpha {
		alpha[k] = float64(a)
	}
	set := planted(40, 4, 7)
	sum, scored := 0.0, 0.0
	for d := range set.Rows() {
		s, n := completion(m, details{alpha, 0.05}, set.Documents.Word[set.Documents.Offset[d]:set.Documents.Offset[d+1]], set.Documents.Count[set.Documents.Offset[d]:set.Documents.Offset[d+1]])
		sum, scored = sum+s, scored+n
	}
	got := apptest.Evaluate(t, p, set)
	if v := apptest.Metric(t, got, "loglik_per_token"); math.Abs(v-sum/scored) > 1e-4 {
		t.Errorf("evaluated %v, the definition gives %v", v, sum/scored)
	}
}

func TestPredictNamesTheTopicOfWords(t *testing.T) {
	t.Parallel()
	set := planted(300, 5, 8)
	run, tables, _ := trained(t, app.Input{Data: set, Seed: 1, Epochs: 60, Settings: map[string]string{"topics": "5"}}, 2)
	m := apptest.Model(t, run, tables)
	p := apptest.Open(t, New(), m)
	asked := setOf([][]int32{{0, 0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}, {}, {39}}, 40)
	var out bytes.Buffer
	if err := p.Predict(asked, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var top []string
	for _, l := range lines {
		fields := strings.Split(l, "\t")
		if len(fields) < 2 || !strings.HasPrefix(fields[1], fields[0]+":0.") {
			t.Fatalf("line %q", l)
		}
		top = append(top, fields[0])
	}
	if len(top) != 5 || top[0] != top[1] || top[0] == top[2] || top[2] == top[4] {
		t.Errorf("topics %v", top)
	}
	// Words by their names, whatever their numbers; unknown ones do not count.
	named := &data.Set{Kind: data.Documents, Documents: &data.DocumentSet{Offset: []int64{0, 3}, Word: []int32{0, 1, 2}, Count: []int32{2, 1, 1},
		Vocab: []string{set.Documents.Vocab[8], "unknown", set.Documents.Vocab[9]}}}
	out.Reset()
	if err := p.Predict(named, &out); err != nil || !strings.HasPrefix(out.String(), top[2]+"\t") {
		t.Errorf("predicted %q, %v; want topic %s", out.String(), err, top[2])
	}
	told, err := application{}.Learned(m)
	if err != nil || len(told) != 5 || !strings.Contains(strings.Join(told, "\n"), " "+set.Documents.Vocab[8]+" ") {
		t.Errorf("told %q, %v", told, err)
	}
}

func TestOpenRefusesModelsThatDisagree(t *testing.T) {
	t.Parallel()
	run, tables, _ := trained(t, app.Input{Data: planted(40, 3, 9), Seed: 1, Epochs: 2, Settings: map[string]string{"topics": "3"}}, 1)
	for want, spoil := range map[string]func(m *model.Model){
		"no model of lda":       func(m *model.Model) { m.App = "mf" },
		"I32 of shape [23 -1]":  func(m *model.Model) { m.IDs[0].Names = m.IDs[0].Names[1:] },
		"I32 of shape [3]":      func(m *model.Model) { m.Tensors[1].Shape = []int{4} },
		"tokens, and its words": func(m *model.Model) { m.Tensors[1].Counts[2]++ },
		"in topic 1 is -1":      func(m *model.Model) { m.Tensors[0].Counts[1] = -1 },
		"details are not those": func(m *model.Model) { m.Details = []byte("[]") },
		"alpha has 1 numbers":   func(m *model.Model) { m.Details = []byte(`{"alpha":[1],"beta":1}`) },
		"alpha of topic 1 is 0": func(m *model.Model) { m.Details = []byte(`{"alpha":[1,0,1],"beta":1}`) },
		"beta is 0":             func(m *model.Model) { m.Details = []byte(`{"alpha":[1,1,1]}`) },
	} {
		m := apptest.Model(t, run, tables)
		m.Tensors[0].Counts = slices.Clone(m.Tensors[0].Counts) // they may be the table
		spoil(m)
		if _, err := New().Open(m); err == nil || !strings.Contains(err.Error(), want) || bellows.KindOf(err) != bellows.BadData {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
	if _, err := run.Model(tables[:1]); err == nil {
		t.Error("a model of one table was made")
	}
}

func TestNewRunRefuses(t *testing.T) {
	t.Parallel()
	set := planted(20, 2, 1)
	often := setOf([][]int32{{0, 1}, {0, 1}, {0, 1}}, 2)
	often.Documents.Count[0], often.Documents.Count[2], often.Documents.Count[4] = 70_000, 70_000, 70_000
	for want, in := range map[string]app.Input{
		"must be documents":         {Data: &data.Set{Kind: data.Ratings}},
		"topics=1":                  {Data: set, Settings: map[string]string{"topics": "1"}},
		"sampler=gibbs":             {Data: set, Settings: map[string]string{"sampler": "gibbs"}},
		"did you mean topics":       {Data: set, Settings: map[string]string{"topic": "3"}},
		"are left for training":     {Data: setOf([][]int32{{}, {}}, 2)},
		"counts a word up to 65535": {Data: often, Seed: 1, Settings: map[string]string{"sampler": "sparse", "topics": "65536"}},
	} {
		if _, err := New().NewRun(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %q, got %v", want, err)
		}
	}
	for topics, want := range map[string]string{"100": samplerSparse, "11000": samplerMH} {
		if p := problemOf(t, app.Input{Data: set, Settings: map[string]string{"topics": topics}}); p.sampler != want {
			t.Errorf("%s topics are drawn by %s", topics, p.sampler)
		}
	}
}

// TestRunsEndWhenEpochsGainLittle: a gain of the mean epoch below the least one ends a run, after the epochs that are added up; a bad epoch
// among good ones does not, and the end that is expected comes nearer.
func TestRunsEndWhenEpochsGainLittle(t *testing.T) {
	t.Parallel()
	p := problemOf(t, app.Input{Data: planted(60, 3, 1), Seed: 1, Settings: map[string]string{"topics": "4", "patience": "4"}})
	end := func(loss func(epoch int) float64) (stopped int, expected []int) {
		k := newPolicy(p)
		progress := epochs.Progress{Best: math.Inf(1), Marked: math.Inf(1)}
		scores := make([]float64, gotScore)
		for progress.Epoch < 100 {
			k.Score(&progress, make([]float64, p.topics+1))
			progress.Epoch++
			scores[gotHeld] = -loss(progress.Epoch) * float64(p.held)
			v := k.End(&progress, nil, scores)
			expected = append(expected, v.Expected)
			if v.Stop {
				return progress.Epoch, expected
			}
		}
		return 0, expected
	}
	falling := func(epoch int) float64 { return 7 + 0.1/float64(epoch) } // gains 0.0005 in its fourteenth epoch
	stopped, expected := end(falling)
	if stopped != 17+samples || expected[0] != typical+samples || expected[3] != typical+samples || expected[4] < 12+samples || expected[4] > 22+samples ||
		math.Abs(float64(expected[12]-17-samples)) > 1 || expected[20] != 17+samples {
		t.Errorf("ended after epoch %d; expected %v", stopped, expected)
	}
	if again, _ := end(func(epoch int) float64 {
		if epoch == 9 || epoch == 12 {
			return 8
		}
		return falling(epoch)
	}); again < 16+samples || again > 18+samples {
		t.Errorf("ended after epoch %d where two were bad", again)
	}
	if never, expected := end(func(int) float64 { return math.NaN() }); never != 0 || expected[99] != 0 {
		t.Errorf("ended after epoch %d with nothing held out; expected %v", never, expected)
	}
}

// TestSeedsRepeat: by default the seed alone says what the model is.
func TestSeedsRepeat(t *testing.T) {
	t.Parallel()
	in := app.Input{Data: planted(200, 4, 2), Seed: 3, Settings: map[string]string{"topics": "6"}}
	_, one, epochs := trained(t, in, 1)
	_, three, again := trained(t, in, 3)
	if !slices.Equal(table.Counts(one[0]), table.Counts(three[0])) || len(epochs) != len(again) {
		t.Errorf("other counts, or %d and %d epochs", len(epochs), len(again))
	}
}

// TestDriverCanBeSaved plays runs of all clocks at once and of one after the other, that learn α and keep their best epoch.
func TestDriverCanBeSaved(t *testing.T) {
	t.Parallel()
	for _, staleness := range []int{0, 2} {
		p := problemOf(t, app.Input{Data: planted(60, 3, 1), Seed: 1, Epochs: 4, Staleness: &staleness,
			Settings: map[string]string{"topics": "4", "splits": "3", "clocks": "4"}})
		p.Epochs, p.EarlyStop, p.Patience = alphaWarm+4, true, 2+staleness // ending before the last epoch, or in the middle
		traintest.CanBeSaved(t, traintest.Job{
			Job:   train.Job{Tables: p.tables(), Splits: p.splits, Items: p.items},
			Fresh: func() train.Driver { return newPolicy(p).driver() },
			Result: func(u bellows.Unit) []float64 {
				r := make([]float64, p.topics+1)
				if p.work().Place(u.Clock) == p.clocks {
					r = make([]float64, gotScore)
				}
				rng := newStream(1, int(u.Split), int(u.Clock), 0)
				for i := range r {
					r[i] = float64(1 + rng.below(100))
				}
				return r
			},
		})
	}
}
