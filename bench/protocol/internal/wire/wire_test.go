package wire

import (
	"testing"
	"time"

	"bellows/bench/internal/pair"
	"bellows/bench/protocol/internal/wire/internal/duty"
	"bellows/link/wire"
)

// TestDutiesEndAfterTheirRequests plays the driver against a lane without processes between them, and counts what the lane
// was asked and what it applied.
func TestDutiesEndAfterTheirRequests(t *testing.T) {
	t.Parallel()
	lane, err := newLane()
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver()
	for _, job := range []duty.Duty{
		{Kind: "push", Size: 64 << 10, Window: 4, Count: 10}, {Kind: "pull", Size: 1 << 20, Window: 3, Count: 7}, {Kind: "list", Size: 1 << 10, Window: 8, Count: 20},
		{Kind: "push", Size: 1 << 10, Window: 1, Count: 5}, {Kind: "pull", Size: 1 << 10, Window: 9, Count: 2},
	} {
		latencies := make([]time.Duration, job.Count)
		asked := map[string]int{}
		toClient := []wire.Envelope{{Message: begin{duty: job, latencies: latencies}}}
		for most := 0; len(toClient) > 0; {
			var there, back wire.Outbox
			d.step(toClient, &there)
			for _, e := range there.Envelopes {
				switch m := e.Message.(type) {
				case *wire.Push:
					asked["push"]++
				case *wire.Pull:
					asked["pull"]++
					if n := len(m.Parts[0].Rows); job.Kind == "list" && 4*width*n != job.Size {
						t.Errorf("%v: %d rows are asked for", job, n)
					}
				}
			}
			lane.Step(there.Envelopes, &back)
			toClient = nil
			for _, e := range back.Envelopes {
				if e.To != controllerAt {
					toClient = append(toClient, e)
					continue
				}
				var records, applied wire.Outbox
				number([]wire.Envelope{e}, &records)
				lane.Step(records.Envelopes, &applied)
				toClient = append(toClient, applied.Envelopes...)
			}
			if most = max(most, d.sent-d.answered); most > job.Window {
				t.Fatalf("%v: %d requests are in flight", job, most)
			}
		}
		select {
		case err := <-d.done:
			if err != nil {
				t.Fatalf("%v: %v", job, err)
			}
		default:
			t.Fatalf("%v: no end after %d of its requests", job, d.answered)
		}
		want := "pull"
		if job.Kind == "push" {
			want = "push"
		}
		if asked[want] != job.Count || len(asked) != 1 || latencies[job.Count-1] == 0 {
			t.Errorf("%v: the lane was asked %v, the last request took %v", job, asked, latencies[job.Count-1])
		}
	}
	if lane.Applied() != 15 {
		t.Errorf("%d flushes were applied, 15 were pushed", lane.Applied())
	}
}

func TestDutiesThatNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, d := range []duty.Duty{{Kind: "push", Size: 3 << 10}, {Kind: "sort", Size: 1 << 10}, {Kind: "list", Size: 1 << 20}} {
		if _, err := tableOf(d); err == nil {
			t.Errorf("%v has a table", d)
		}
	}
	if pair.Attempt(func() { Program.Roles["frames"]([]string{"sell", "tcp:127.0.0.1:0"}) }) == nil {
		t.Error("a contender sells frames")
	}
}

func TestRateOf(t *testing.T) {
	t.Parallel()
	const head = "\"test\",\"rps\",\"avg_latency_ms\"\n"
	if rate, err := rateOf([]byte(head + "\"GET\",\"52631.58\",\"0.013\"\n")); err != nil || rate != 52631.58 {
		t.Errorf("rate %v, %v", rate, err)
	}
	for _, bad := range []string{"", head, head + "\"GET\",\"none\"\n", head + "\"GET\",\"0\"\n"} {
		if rate, err := rateOf([]byte(bad)); err == nil {
			t.Errorf("%q gives %v", bad, rate)
		}
	}
}
