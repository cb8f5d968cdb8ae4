package train_test

import (
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

// TestFingerprintsTellJobsApart changes one thing of a job after the other and wants the part named that it belongs to.
func TestFingerprintsTellJobsApart(t *testing.T) {
	job := func() train.Job {
		return train.Job{
			Tables: []table.Schema{
				{Name: "w", Rows: 9, Width: 2, Rule: table.Rule{Name: "momentum", Step: 0.5, Momentum: 0.9}},
				{Name: "k", Sparse: true, Rows: 100, Width: 1, Partitions: 2},
			},
			Splits: 3, Data: "ratings",
			Items: func(s bellows.SplitID, c bellows.Clock) bellows.Range {
				return bellows.Range{Begin: 0, End: int(s) + 1}
			},
		}
	}
	same := job()
	want := train.Fingerprint(&same, vec.Float32)
	for name, c := range map[string]struct {
		change func(j *train.Job)
		part   string
	}{
		"nothing":     {func(*train.Job) {}, ""},
		"a name":      {func(j *train.Job) { j.Tables[0].Name = "v" }, "tables"},
		"rows":        {func(j *train.Job) { j.Tables[0].Rows++ }, "tables"},
		"width":       {func(j *train.Job) { j.Tables[0].Width++ }, "tables"},
		"a type":      {func(j *train.Job) { j.Tables[0].DType = table.Int32 }, "tables"},
		"an init":     {func(j *train.Job) { j.Tables[0].Init.Low = 1 }, "tables"},
		"a seed":      {func(j *train.Job) { j.Tables[0].Init.Seed = 1 }, "tables"},
		"a rule":      {func(j *train.Job) { j.Tables[0].Rule.Name = "adam" }, "tables"},
		"a step":      {func(j *train.Job) { j.Tables[0].Rule.Step = 0.25 }, "tables"},
		"a parameter": {func(j *train.Job) { j.Tables[0].Rule.Nesterov = true }, "tables"},
		"staleness":   {func(j *train.Job) { j.Tables[0].Consistency = table.SSP(1) }, "tables"},
		"partitions":  {func(j *train.Job) { j.Tables[1].Partitions = 3 }, "tables"},
		"bounds":      {func(j *train.Job) { j.Tables[0].Bounds = []bellows.RowID{0, 4, 9} }, "tables"},
		"keys":        {func(j *train.Job) { j.Tables[1].Sparse = false }, "tables"},
		"a table":     {func(j *train.Job) { j.Tables = j.Tables[:1] }, "tables"},
		"splits":      {func(j *train.Job) { j.Splits++ }, "splits"},
		"items": {func(j *train.Job) {
			j.Items = func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} }
		}, "splits"},
		"data": {func(j *train.Job) { j.Data = "others" }, "data or settings"},
		"both": {func(j *train.Job) { j.Data, j.Splits = "", 2 }, "splits, data or settings"},
	} {
		j := job()
		c.change(&j)
		if got := want.Differs(train.Fingerprint(&j, vec.Float32)); got != c.part {
			t.Errorf("%s: %q differs, not %q", name, got, c.part)
		}
	}
	if got := want.Differs(train.Fingerprint(&same, vec.Float16)); got != "formats on the wire" {
		t.Errorf("another format: %q", got)
	}
	defer vec.Use(vec.Kernels())
	for _, set := range vec.Sets() {
		if set == vec.Kernels() {
			continue
		}
		before := vec.Kernels()
		require.NoError(t, vec.Use(set))
		if got := want.Differs(train.Fingerprint(&same, vec.Float32)); got != "kernels" {
			t.Errorf("kernels %s, not %s: %q", set, before, got)
		}
		break
	}
}
