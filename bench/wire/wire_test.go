package main

import (
	"testing"
	"time"

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
	for _, job := range []duty{
		{"push", 64 << 10, 4, 10}, {"pull", 1 << 20, 3, 7}, {"list", 1 << 10, 8, 20}, {"push", 1 << 10, 1, 5}, {"pull", 1 << 10, 9, 2},
	} {
		latencies := make([]time.Duration, job.count)
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
					if n := len(m.Parts[0].Rows); job.kind == "list" && 4*width*n != job.size {
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
			if most = max(most, d.sent-d.answered); most > job.window {
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
		if job.kind == "push" {
			want = "push"
		}
		if asked[want] != job.count || len(asked) != 1 || latencies[job.count-1] == 0 {
			t.Errorf("%v: the lane was asked %v, the last request took %v", job, asked, latencies[job.count-1])
		}
	}
	if lane.Applied() != 15 {
		t.Errorf("%d flushes were applied, 15 were pushed", lane.Applied())
	}
}

func TestDutiesThatNobodyKnows(t *testing.T) {
	t.Parallel()
	for _, d := range []duty{{kind: "push", size: 3 << 10}, {kind: "sort", size: 1 << 10}, {kind: "list", size: 1 << 20}} {
		if _, err := tableOf(d); err == nil {
			t.Errorf("%v has a table", d)
		}
	}
	if _, _, ok := asChild([]string{"wire", "frames", "sell", "tcp:127.0.0.1:0"}); ok {
		t.Error("a child sells frames")
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

func TestPortOf(t *testing.T) {
	t.Parallel()
	if p := portOf("tcp:127.0.0.1:6543"); p != 6543 {
		t.Errorf("port %d", p)
	}
	if p := portOf("unix:/run/x/s"); p != 0 {
		t.Errorf("a socket's file has port %d", p)
	}
}
