package memory

import (
	"io/fs"
	"math"
	"runtime"
	"testing"

	"bellows"
	"bellows/data"
	"bellows/table"
)

// reader gives the content of made-up files.
func reader(files map[string]string) func(string) (string, error) {
	return func(path string) (string, error) {
		if text, ok := files[path]; ok {
			return text, nil
		}
		return "", fs.ErrNotExist
	}
}

// TestEstimate holds estimates against sums by hand, in MiB.
func TestEstimate(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	now := Process{Resident: 100 * mib, Peak: 120 * mib, File: 40 * mib, Live: 50 * mib, Heap: 60 * mib, Pointed: 4 * mib}
	weights := table.Schema{Name: "weights", Rows: mib, Width: 1}                                                         // 4 MiB
	adagrad := table.Schema{Name: "weights", Rows: mib, Width: 1, Rule: table.Rule{Name: "adagrad", Step: 1, Epsilon: 1}} // and 4 MiB of state
	dense := &data.Set{Kind: data.Examples, Examples: &data.ExampleSet{Dense: make([]float32, 2*mib)}}                    // 8 MiB
	sparse := &data.Set{Kind: data.Examples, Examples: &data.ExampleSet{Offset: []int64{0, mib}, Index: make([]int32, mib), Value: make([]float32, mib)}}
	items := func(_ bellows.SplitID, clock bellows.Clock) bellows.Range { return bellows.Range{End: int(clock & 1)} } // 8 of 80 in one clock
	released := &data.Set{Kind: data.Examples, Examples: &data.ExampleSet{Released: mib}}
	documents := &data.Set{Kind: data.Documents, Documents: &data.DocumentSet{Word: make([]int32, mib)}}
	ratings := &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{}}
	scratch, wide := weights, table.Schema{Name: "weights", Rows: mib / 2, Width: 8} // 4 MiB, 16 MiB
	scratch.Scratch = true
	few := []table.Schema{wide}
	known := &data.Set{Kind: data.Examples, Examples: &data.ExampleSet{Features: mib, Offset: []int64{0, 1}, Index: []int32{0}, Value: []float32{1}}} // half of them occur
	for name, c := range map[string]struct {
		job                  Job
		rows, model, working uint64
		pointed              uint64 // besides
		held                 float64
	}{
		"ratings change tables in place":               {Job{Tables: []table.Schema{weights}, Data: ratings, LaidOut: true, Splits: 9}, 0, 4 + 8, 0, 0, 8},
		"the state of a rule":                          {Job{Tables: []table.Schema{adagrad}, Data: ratings}, 0, 8 + 8, 0, 0, 8},
		"the best epoch is kept":                       {Job{Tables: []table.Schema{adagrad}, Data: ratings, Kept: true}, 0, 16 + 8, 0, 0, 8},
		"a table that is not returned":                 {Job{Tables: []table.Schema{scratch}, Data: ratings}, 0, 4, 0, 0, 8},
		"a table that grows":                           {Job{Tables: []table.Schema{{Name: "keys", Sparse: true, Rows: mib, Width: 1}}, Data: ratings}, 0, 0, 0, 0, 0},
		"splits of dense rows":                         {Job{Tables: []table.Schema{weights}, Data: dense, LaidOut: true, Splits: 4}, 8, 8, 20, 0, 0},
		"rows that are given back":                     {Job{Tables: []table.Schema{weights}, Data: dense, Splits: 2}, 0, 8, 10, 0, 0},
		"splits of sparse rows use all":                {Job{Tables: []table.Schema{weights}, Data: sparse, LaidOut: true, Splits: 2}, 8, 8, 20, 0, 0},
		"sparse rows that are given back":              {Job{Tables: []table.Schema{weights}, Data: released, Splits: 2}, 0, 8, 20, 0, 0},
		"clocks of a part of the rows":                 {Job{Tables: few, Data: sparse, Rows: 32, Items: items, Splits: 8}, 0, 32, 32, 0, 0},
		"features that do not occur":                   {Job{Tables: few, Data: known, Rows: 80, Items: items, Splits: 8}, 0, 48 + 12, 0, 8, 0},
		"documents":                                    {Job{Tables: []table.Schema{weights}, Data: documents, LaidOut: true, Rows: 80 * mib, Splits: 50}, 8, 8, 14, 0, 0},
		"documents of fewer tokens than the table has": {Job{Tables: []table.Schema{wide}, Data: documents, Rows: mib / 3, Splits: 50}, 0, 32, 32, 0, 0},
	} {
		e := c.job.Estimate(now)
		if e.Rows/mib != c.rows || (e.Model+mib/2)/mib != c.model || (e.Working+mib/2)/mib != c.working {
			t.Errorf("%s: rows %d, model %d, working copies %d, want %d, %d, %d", name, e.Rows/mib, e.Model/mib, e.Working/mib, c.rows, c.model, c.working)
		}
		alive := float64(50 + c.rows + c.model + c.working)
		total := 10 + max(120, 40+max(60, alive+min(alive, growthLeast/mib+2*float64(4+c.pointed))))
		if got := float64(e.Total) / mib; math.Abs(got-total) > 1 || e.More != e.Total-now.Resident {
			t.Errorf("%s: in all %.2f, want %.2f", name, got, total)
		}
		c.job.Processes = 2
		if got := float64(c.job.Estimate(now).Total) / mib; math.Abs(got-1.3*total-48-c.held) > 1.3 {
			t.Errorf("%s: in all %.2f in two processes, want %.2f", name, got, 1.3*total+48+c.held)
		}
	}
	now.Pointed = unlimited
	job := Job{Data: documents, LaidOut: true}
	if got, want := job.Estimate(now).Total/mib, uint64(40+10+2*(50+8)); got != want {
		t.Errorf("in a heap that doubles %d, want %d", got, want)
	}
	job = Job{Data: ratings}
	if e := job.Estimate(Process{}); e.Total != 0 || e.More != 0 || e.Use() != nil {
		t.Errorf("where nothing is known, %+v is estimated", e)
	}
}

func TestAvailable(t *testing.T) {
	t.Parallel()
	meminfo := "MemTotal: 8000000 kB\nMemAvailable:    4000000 kB\n"
	group := map[string]string{"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "1048576000",
		"/sys/fs/cgroup/memory.current": "900000000", "/sys/fs/cgroup/memory.stat": "inactive_file 400000000\n"}
	if got, want := Available(reader(group)), (Limit{548_576_000, "its control group"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	group["/sys/fs/cgroup/memory.max"] = "100000000000"
	if got, want := Available(reader(group)), (Limit{4_000_000 << 10, "this machine"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Available(reader(nil)); got.Bytes < 1<<50 && got.Bound == "" {
		t.Errorf("where nothing is known, %+v is left", got)
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	p := Measure(reader(map[string]string{"/proc/self/status": "VmHWM:\t 300 kB\nVmRSS:\t 200 kB\nRssFile:\t 100 kB\n"}))
	if p.Resident != 200<<10 || p.Peak != 300<<10 || p.File != 100<<10 || p.Live == 0 || p.Heap < p.Live || p.Pointed == 0 {
		t.Errorf("%+v", p)
	}
	if p := Measure(reader(nil)); p.Resident != 0 {
		t.Errorf("without /proc: %+v", p)
	}
}

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	// 2^31 rows of 2^20 values are 8 PiB: no machine has them.
	job := Job{Tables: []table.Schema{{Name: "weights", Rows: math.MaxInt32, Width: 1 << 20}}, Data: &data.Set{Kind: data.Ratings, Ratings: &data.RatingSet{}}}
	if _, err := job.Check("mf", false); Measure(readFile).Resident > 0 && bellows.KindOf(err) != bellows.Refused {
		t.Errorf("the error is %v", err)
	}
	if _, err := job.Check("mf", true); err != nil {
		t.Errorf("with --ignore-memory: %v", err)
	}
}

// TestSpareIsWhatTheTightestLimitLeaves takes the machine and a control group, and nothing that is known. Measuring
// collects no garbage. It runs alone, since other tests collect.
func TestSpareIsWhatTheTightestLimitLeaves(t *testing.T) {
	for bytes, want := range map[uint64]int64{math.MaxUint64: 0, 0: 1, 1 << 30: 1 << 30} {
		if got := (Limit{Bytes: bytes}).spare(); got != want {
			t.Errorf("of %d bytes %d are left", bytes, got)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var s Spare
	s.Measure(7)
	if runtime.ReadMemStats(&after); after.NumForcedGC != before.NumForcedGC {
		t.Error("measuring has collected garbage")
	}
	if runtime.GOOS == "linux" && s.Bytes() <= 0 {
		t.Error("nothing is known")
	}
	s.bytes.Store(-1)
	if s.Measure(7 + spareEvery - 1); s.Bytes() != -1 {
		t.Error("it is measured again at once")
	}
	if s.Measure(7 + spareEvery); s.Bytes() == -1 {
		t.Error("it is not measured again")
	}
}
