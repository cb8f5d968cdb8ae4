package app

import (
	"maps"
	"testing"

	"bellows"
)

var described = Description{Name: "mf", Settings: []Setting{
	{Name: "rank", Default: "32"},
	{Name: "lr", Default: Auto},
	{Name: "biases", Default: "true"},
	{Name: "schedule", Default: "strata"},
}}

func TestResolveFillsDefaults(t *testing.T) {
	v, err := Resolve(described, map[string]string{"rank": " 16 ", "biases": "off"})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Int("rank", 1, 100); got != 16 {
		t.Errorf("rank = %d", got)
	}
	if !v.IsAuto("lr") {
		t.Error("lr was not given and must be auto; rank was given")
	}
	if v.Bool("biases") {
		t.Error("biases=off is true")
	}
	if got := v.Choice("schedule", "strata", "ssp"); got != "strata" {
		t.Errorf("schedule = %q", got)
	}
	v.Settle("lr", "0.125")
	if got := v.Float("lr", 0, 1); got != 0.125 {
		t.Errorf("lr = %g", got)
	}
	if err := v.Err(); err != nil {
		t.Error(err)
	}
	want := map[string]string{"rank": "16", "lr": "0.125", "biases": "off", "schedule": "strata"}
	if got := v.Map(); !maps.Equal(got, want) {
		t.Errorf("All() = %v, want %v", got, want)
	}
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name  string
		given map[string]string
		want  string
	}{
		{"typo", map[string]string{"rnak": "3"},
			"set mf: rnak=3: is no setting of this application: did you mean rank?"},
		{"unknown", map[string]string{"temperature": "3"},
			"set mf: temperature=3: is no setting of this application: it has rank, lr, biases, schedule"},
		{"range", map[string]string{"rank": "0"},
			"set mf: rank=0: must be a whole number from 1 to 100"},
		{"not a number", map[string]string{"lr": "NaN"},
			"set mf: lr=NaN: must be a number from 0 to 1"},
		{"several", map[string]string{"rank": "x", "biases": "maybe", "schedule": "fast"},
			"set mf: rank=x: must be a whole number from 1 to 100; biases=maybe: must be true or false; schedule=fast: must be one of strata, ssp"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Resolve(described, tt.given)
			if err == nil {
				v.Int("rank", 1, 100)
				if !v.IsAuto("lr") {
					v.Float("lr", 0, 1)
				}
				v.Bool("biases")
				v.Choice("schedule", "strata", "ssp")
				err = v.Err()
			}
			if err == nil || err.Error() != tt.want {
				t.Fatalf("got  %v\nwant %s", err, tt.want)
			}
			if bellows.KindOf(err) != bellows.Config {
				t.Errorf("kind %v, want Config", bellows.KindOf(err))
			}
		})
	}
}

func TestRefuseNamesTheValue(t *testing.T) {
	v, err := Resolve(described, map[string]string{"rank": "64"})
	if err != nil {
		t.Fatal(err)
	}
	v.Refuse("rank", "needs more than %d users", 8)
	want := "set mf: rank=64: needs more than 8 users"
	if err := v.Err(); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
