package board

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/api"
	"bellows/internal/require"
	"bellows/policy/gauge"
	"bellows/policy/gauge/gaugetest"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, good := range map[string]bool{"127.0.0.1:9090": true, "localhost:0": true, "[::1]:80": true, "127.1.2.3:1": true,
		":9090": false, "0.0.0.0:1": false, "[::]:1": false, "example.org:80": false, "10.1.1.1:1": false, "127.0.0.1": false, "": false, "localhost:": false} {
		if err := CheckAddress(address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// TestJobsFolder: the flag before the environment before the home; a relative state folder of the environment does
// not count.
func TestJobsFolder(t *testing.T) {
	for _, c := range []struct{ flag, environment, want string }{
		{"here", "/there", "here/jobs"}, {"", "/there", "/there/bellows/jobs"},
		{"", "", "/me/.local/state/bellows/jobs"}, {"", "there", "/me/.local/state/bellows/jobs"},
	} {
		t.Setenv("HOME", "/me")
		t.Setenv("XDG_STATE_HOME", c.environment)
		if got, err := Folder(c.flag); err != nil || got != filepath.FromSlash(c.want) {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	t.Setenv("HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	if _, err := Folder(""); bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "--state") {
		t.Errorf("without a home: %v", err)
	}
}

// TestJobRunsAfterJoin.
func TestJobRunsAfterJoin(t *testing.T) {
	t.Parallel()
	var p api.Progress
	joins := []api.Node{{State: api.Running}, {State: api.Running}, {State: api.Joining}}
	b := New(api.Status{Job: "a"}, 0, func(context.Context) (api.Progress, error) { return p, nil })
	for _, c := range []struct {
		nodes int
		want  api.State
	}{{0, api.Starting}, {3, api.Starting}, {2, api.Running}} { // the third has not joined
		p.Nodes = joins[:c.nodes]
		if s, err := b.Status(t.Context()); err != nil || s.State != c.want {
			t.Errorf("with %d nodes it is %s, not %s (%v)", c.nodes, s.State, c.want, err)
		}
	}
}

// TestMetricsAddress posts a board over TCP besides.
func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	b := New(api.Status{Job: "mf-1", App: "mf", Started: time.Now()}, 0, func(context.Context) (api.Progress, error) { return api.Progress{Commit: 81}, nil })
	var said []string
	talk := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := b.Post("bellows", file, "127.0.0.1:0", talk) // a state folder that cannot be
	if err != nil || len(said) != 2 || !strings.Contains(said[1], "will not show this run: listen at "+file) {
		t.Fatalf("%q, %v", said, err)
	}
	url := strings.TrimPrefix(said[0], "metrics at ")
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(body), `bellows_commits_total{job="mf-1"} 81`) {
		t.Errorf("%s, %v", body, err)
	}
	taken := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/metrics")
	if _, err := b.Post("bellows", file, taken, talk); bellows.KindOf(err) != bellows.Unavailable {
		t.Errorf("an address that is taken: %v", err)
	}
	b.Close()
	p.Close()
	if _, err := http.Get(url); err == nil {
		t.Error("it is served after the end")
	}
}

// TestAJobThatHangs checks given up, in virtual time: a pipe stands for the socket of a process that was stopped.
func TestAJobThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		go io.Copy(io.Discard, far)
		began := time.Now()
		_, err := Job{"mf-1", 7, ""}.statusOver(t.Context(), func(context.Context, string, string) (net.Conn, error) { return near, nil })
		if bellows.KindOf(err) != bellows.Unavailable || !strings.Contains(err.Error(), "mf-1 (process 7): no answer within 5s; is it stopped?") {
			t.Errorf("error %v", err)
		}
		if d := time.Since(began); d != answerWithin {
			t.Errorf("after %v", d)
		}
	})
}

// TestJobGivesItsFigures as they were, with rates of links that have no upper bound, or says why it has none.
func TestJobGivesItsFigures(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	want := gaugetest.Uniform(gaugetest.Size{Nodes: 3, Splits: 4, Partitions: 5})
	want.Nodes[1].In = gauge.Interval{Value: 2, Low: 2, High: math.Inf(1)}
	why := errors.New("it takes 7 clocks more")
	b := New(api.Status{Job: "mf-1", Started: time.Now()}, 0, func(context.Context) (api.Progress, error) { return api.Progress{}, nil })
	b.Measured = func(context.Context) (*gauge.Figures, error) { return want, why }
	p, err := b.Post("bellows", state, "", t.Logf)
	require.NoError(t, err)
	defer p.Close()
	answers, err := Ask(t.Context(), state, "mf-1")
	require.NoError(t, err)
	if _, err := answers[0].Job.Figures(t.Context()); bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), why.Error()) {
		t.Errorf("without figures: %v", err)
	}
	why = nil
	if got, err := answers[0].Job.Figures(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, not %+v", got, err, want)
	}
}
