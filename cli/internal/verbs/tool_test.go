package verbs

import (
	"bytes"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli/internal/processes"
	"bellows/cli/internal/screen"
	"bellows/data"
	"bellows/model"
)

// stub is an application that answers a verb with the rows given, and makes runs without an identity.
type stub struct {
	app.Application
	rows [][]any
}

func (s stub) Verbs() []app.Verb {
	return []app.Verb{{Name: "near", Args: []string{"ITEM"}, Columns: []string{"item", "score"},
		Answer: func(q *app.Question) ([][]any, error) {
			return append([][]any{{q.Args[0], 1}}, s.rows...), nil
		}}}
}

func (s stub) NewRun(app.Input) (*app.Run, error) {
	return &app.Run{Settings: map[string]string{"rank": "3"}}, nil
}

// TestVerbsOfApplications asks models, for people and as JSON.
func TestVerbsOfApplications(t *testing.T) {
	t.Parallel()
	own, other := t.TempDir(), t.TempDir()
	for dir, name := range map[string]string{own: "mf", other: "mlr"} {
		if err := model.Save(dir, &model.Model{App: name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dir  string
		json bool
		rows [][]any
		out  string
		kind bellows.Kind
		err  string
	}{
		{dir: own, rows: [][]any{{"heat", float32(0.5)}}, out: "item  score\nup    1\nheat  0.5\n"},
		{dir: own, rows: [][]any{{"heat", 1.0 / 3}}, json: true, out: `{"item":"up","score":1}` + "\n" + `{"item":"heat","score":0.3333333333333333}` + "\n"},
		{dir: own, rows: [][]any{{"heat"}}, kind: bellows.Bug, err: "a row has 1 values for 2 columns"},
		{dir: other, kind: bellows.Usage, err: "it is a model of mlr, and near is for those of mf"},
		{dir: "nowhere", kind: bellows.NoInput, err: "nowhere"},
	} {
		var out bytes.Buffer
		tool, err := New(&screen.Console{Out: &out, Name: "bellows", JSON: c.json}, stub{mf.New(), c.rows}, mlr.New())
		if err != nil {
			t.Fatal(err)
		}
		near := tool.askCommand(tool.added[0])
		err = near.RunE(near, []string{c.dir, "up"})
		if out.String() != c.out {
			t.Errorf("%q, want %q", out.String(), c.out)
		}
		if c.err == "" && err != nil || c.err != "" && (bellows.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v, want kind %d, %q", err, c.kind, c.err)
		}
	}
}

// TestEveryJobIsCompared wants a job of an application that says nothing of its data to have the identity of its input.
func TestEveryJobIsCompared(t *testing.T) {
	t.Parallel()
	identity := func(seed uint64) string {
		opt := &trainOptions{workers: "1", seed: seed, cluster: processes.Options{Servers: "auto", Shape: "off", Transport: "auto", Wire: "fp32", Pairs: "auto"}}
		o, err := newOrder(stub{Application: mf.New()}, nil, opt)
		if err != nil {
			t.Fatal(err)
		}
		set := &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{}}
		made, err := o.job(&inputs{set: set}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made.Job.Data
	}
	if one := identity(1); one == "" || one == identity(2) || one != identity(1) {
		t.Errorf("%q", one)
	}
}
