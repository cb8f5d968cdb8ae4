package checkpoint

import (
	"archive/tar"
	"compress/gzip"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestCostOfACutIsFound in a run that costs 0.1 s of CPU time for each epoch of 0.05 s, and 0.4 s plus 0.3 s in the
// second with a cut; and nothing without one.
func TestCostOfACutIsFound(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1000, 0)
	at := func(s float64) time.Time { return begin.Add(time.Duration(s * float64(time.Second))) }
	r := &course{}
	for i, now, cpu, next := 0, 0.0, 0.0, 10.0; now < 60; i++ {
		r.samples = append(r.samples, sample{at(now), time.Duration(cpu * float64(time.Second)), i})
		now, cpu = now+0.05, cpu+0.1
		if now >= next { // a cut begins with the next epoch
			next += 15
			r.cuts = append(r.cuts, span{at(now), at(now + 0.3)})
			now, cpu = now+0.3, cpu+0.4
		}
	}
	var a around
	a.add(r)
	if len(a.cpu) < 2 {
		t.Fatalf("%d cuts of %d were looked at", len(a.cpu), len(r.cuts))
	}
	near := func(what string, list []float64, want float64) {
		for _, x := range list {
			if math.Abs(x-want) > 0.11 { // an epoch more or less at each end
				t.Errorf("%s is %.3f, want %.3f", what, x, want)
			}
		}
	}
	near("CPU time", a.cpu, 0.4)
	near("wall time", a.wall, 0.3)
	near("CPU time of none", a.cpuNone, 0)
	near("wall time of none", a.wallNone, 0)
	for i := range a.cpuShare {
		if a.cpuShare[i] < 1.005 || a.cpuShare[i] > 1.03 { // 0.4 of 29
			t.Errorf("its share is %.4f", a.cpuShare[i])
		}
	}
}

// TestLivesAreRead of a recording of each kind.
func TestLivesAreRead(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.tar.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, file := range [][2]string{
		{"availability/1-node/aws/a.json", `{"metadata": {"gap_seconds": 600}, "data": [1, 1, 0, 2, 2, 1, 1]}`},
		{"logs/gcp/availability/p.out", "[2020-03-01T10:00:00.000Z] Created instance a with 1 GPU(s) of type k80 in zone z\n[2020-03-01T10:30:00.000Z] Instance a running in zone z\n" +
			"[2020-03-01T11:00:00.000Z] Instance a not running in zone z\n[2020-03-01T12:00:00.000Z] Instance b not running in zone z\n" +
			"[2020-03-01T12:00:00.000Z] Instance with 8 GPU(s) of type k80 creation failed\n[2020-03-01T13:00:00.000Z] Created instance a with 1 GPU(s) of type k80 in zone z\n[2020-03-01T13:10:00.000Z] Instance a running in zone z\n"},
		{"logs/gcp/spin_up/x.out", "nothing of it"},
	} {
		if err := w.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	for _, close := range []func() error{w.Close, z.Close, f.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := recordings(name)
	want := []lived{{"aws/a.json", 70 * time.Minute, 2}, {"gcp p.out", 70 * time.Minute, 1}}
	if err != nil || len(list) != 2 || list[0] != want[0] || list[1] != want[1] {
		t.Errorf("%v: %v", list, err)
	}
}
