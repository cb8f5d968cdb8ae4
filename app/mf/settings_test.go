package mf

import (
	"strconv"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
	"bellows/app/apptest"
	"bellows/data"
)

func stale(s int) *int { return &s }

func TestRefusedInputs(t *testing.T) {
	set, _ := small.Sets()
	empty := &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{}}
	tests := []struct {
		name string
		in   app.Input
		kind bellows.Kind
		want string
	}{
		{"typo", app.Input{Data: set, Settings: map[string]string{"rnk": "3"}}, bellows.Config, "rnk=3: is no setting of this application: did you mean rank?"},
		{"rank", app.Input{Data: set, Settings: map[string]string{"rank": "0"}}, bellows.Config, "rank=0: must be a whole number from 1 to 4096"},
		{"lr", app.Input{Data: set, Settings: map[string]string{"lr": "-1"}}, bellows.Config, "lr=-1: must be a number from 1e-06 to 1"},
		{"l2", app.Input{Data: set, Settings: map[string]string{"l2": "much"}}, bellows.Config, "l2=much: must be a number from 0 to 1"},
		{"biases", app.Input{Data: set, Settings: map[string]string{"biases": "both"}}, bellows.Config, "biases=both: must be true or false"},
		{"schedule", app.Input{Data: set, Settings: map[string]string{"schedule": "bsp"}}, bellows.Config, "schedule=bsp: must be one of strata, ssp"},
		{"clocks", app.Input{Data: set, Settings: map[string]string{"clocks": "41", "splits": "3"}}, bellows.Config, "clocks=41: more parts than there are items: 40"},
		{"splits", app.Input{Data: set, Settings: map[string]string{"splits": "61"}}, bellows.Config, "splits=61: more than the data can be cut into: 60 users, 40 items"},
		{"splits of ssp", app.Input{Data: set, Settings: map[string]string{"splits": "41", "schedule": "ssp"}}, bellows.Config, "splits=41: more than the data can be cut into: 60 users, 40 items"},
		{"staleness", app.Input{Data: set, Staleness: stale(2)}, bellows.Config, "schedule=strata: leases read nothing stale"},
		{"no ratings", app.Input{Data: empty}, bellows.BadData, "the data holds no ratings"},
		{"no test ratings", app.Input{Data: set, Test: empty}, bellows.BadData, "the data holds no ratings"},
		{"several", app.Input{Data: set, Settings: map[string]string{"rank": "x", "patience": "0"}}, bellows.Config, "patience=0: must be a whole number from 1 to 2147483647"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := application{}.NewRun(tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if bellows.KindOf(err) != tt.kind {
				t.Errorf("kind %v, want %v", bellows.KindOf(err), tt.kind)
			}
		})
	}
}

func TestDataWithoutTrainingRatingsIsRefused(t *testing.T) {
	set := &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{User: []int32{0}, Item: []int32{0}, Rating: []float32{1}, Users: []string{"a"}, Items: []string{"b"}}}
	var seed uint64
	for !data.HeldOut(seed, 0, data.HeldAlone) {
		seed++
	}
	_, err := application{}.NewRun(app.Input{Data: set, Seed: seed})
	if err == nil || bellows.KindOf(err) != bellows.BadData || !strings.Contains(err.Error(), "leave none to train on") {
		t.Errorf("got %v", err)
	}
}

func TestResolvedSettingsGiveTheSameRun(t *testing.T) {
	set, _ := small.Sets()
	for _, schedule := range []string{strata, ssp} {
		first := apptest.NewRun(t, application{}, app.Input{Data: set, Settings: map[string]string{"schedule": schedule}})
		for name, value := range first.Settings {
			if value == app.Auto && name != "l2" {
				t.Errorf("%s: %s was not settled", schedule, name)
			}
		}
		again, err := application{}.NewRun(app.Input{Data: set, Settings: first.Settings})
		if err != nil {
			t.Fatalf("%s: the resolved settings %v are refused: %v", schedule, first.Settings, err)
		}
		if again.Job.Splits != first.Job.Splits {
			t.Errorf("%s: %d splits, then %d", schedule, first.Job.Splits, again.Job.Splits)
		}
	}
}

func TestEveryTableIsValid(t *testing.T) {
	set, _ := small.Sets()
	for _, settings := range []map[string]string{
		nil, {"schedule": "ssp"}, {"biases": "off", "rank": "16"}, {"splits": "1"}, {"splits": "60"}, {"splits": "2", "clocks": "40"},
	} {
		run := apptest.NewRun(t, application{}, app.Input{Data: set, Settings: settings})
		for _, s := range run.Job.Tables {
			if err := s.Validate(); err != nil {
				t.Errorf("%v: %v", settings, err)
			}
			if s.Width%16 != 0 {
				t.Errorf("%v: rows of %s are %d values, no whole cache lines", settings, s.Name, s.Width)
			}
		}
	}
}

// TestSplitsAreWhatWasAsked: the number of executors is the user's; the parts of the items follow the data.
func TestSplitsAreWhatWasAsked(t *testing.T) {
	set, _ := Made{Users: 900, Items: 500, Rank: 1, Each: 100, Noise: 0.3, Mean: 3, Unit: 1, Seed: 2}.Sets()
	for _, tt := range []struct{ splits, clocks, wantSplits, wantClocks string }{
		{"auto", "auto", "4", "4"},
		{"1", "auto", "1", "1"},
		{"3", "auto", "3", "3"},
		{"6", "auto", "6", "4"},
		{"64", "auto", "64", "8"},
		{"900", "auto", "900", "112"},
		{"2", "5", "2", "5"},
		{"7", "2", "7", "2"},
		{"1", "500", "1", "500"},
	} {
		run := apptest.NewRun(t, application{}, app.Input{Data: set, Settings: map[string]string{"splits": tt.splits, "clocks": tt.clocks}})
		if s, c := run.Settings["splits"], run.Settings["clocks"]; s != tt.wantSplits || c != tt.wantClocks {
			t.Errorf("splits=%s clocks=%s give splits=%s clocks=%s; want %s and %s", tt.splits, tt.clocks, s, c, tt.wantSplits, tt.wantClocks)
		}
		if got, want := run.Job.Splits, tt.wantSplits; strconv.Itoa(got) != want {
			t.Errorf("splits=%s runs %d splits", tt.splits, got)
		}
	}
}
