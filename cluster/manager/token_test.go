//go:build unix

package manager

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellows/cluster"
	"bellows/cluster/internal/jobstore"
	"bellows/port/registry/mem"
)

// TestTokenIsNotKept submits a token by flag and by variable, and finds it neither in the registry, the log and the status nor in the environment of started processes. The record of an older manager, which has it, is cleaned.
func TestTokenIsNotKept(t *testing.T) {
	secret := strings.Repeat("38096df8b116", 4) + "." + strings.Repeat("aac2c3a5b504", 4)
	t.Setenv("BELLOWS_TOKEN", secret)
	if strings.Contains(strings.Join(Mark(), "\n"), secret) {
		t.Error("what a cluster starts has the token in its environment")
	}
	store := mem.New("test")
	r := store.Open()
	old := jobstore.Job{Number: 1, State: cluster.Queued, Submitted: time.Now(), Request: cluster.Submission{App: "mf", Word: os.Args[0], Dir: t.TempDir(), Program: own,
		Args: []string{"say=one", "--token", secret, "--token=" + secret, "say=two"}, Env: []string{"BELLOWS_TOKEN=" + secret, "BELLOWS_A=a"}}}
	text, err := json.Marshal(old)
	if err == nil {
		_, err = r.Put(t.Context(), jobstore.JobKey(1), text, 0)
	}
	if err != nil || !strings.Contains(string(text), secret) {
		t.Fatal(err)
	}
	u := bringUpAt(t, store, 1, 0)
	if out, _, code := u.output(1); out != "one\ntwo\n" || code != 0 {
		t.Errorf("an older record: %q, %d", out, code)
	}
	j, err := u.client.Submit(t.Context(), cluster.Submission{App: "mf", Word: "bellows", Args: []string{"say=three", "--token=" + secret, "--token", secret, "say=four", "--", "--token", "x"},
		Env: []string{"BELLOWS_TOKEN=" + secret}, Dir: t.TempDir(), Program: own})
	if err != nil {
		t.Fatal(err)
	}
	if out, _, code := u.output(j.Job); out != "three\nfour\n" || code != 0 {
		t.Errorf("%q, %d", out, code)
	}
	s, err := u.client.Status(t.Context())
	if err != nil || s.Jobs[1].Command != "say=three say=four -- --token x" {
		t.Errorf("its command is %q, %v", s.Jobs[1].Command, err)
	}
	log, err := os.ReadFile(u.folder.Log())
	if err != nil || strings.Contains(string(log), secret) {
		t.Errorf("the log has the token, %v", err)
	}
	for _, prefix := range []string{jobstore.JobsPrefix, jobstore.CommandsPrefix} {
		list, _, err := r.List(t.Context(), prefix)
		if err != nil || len(list) != 2 {
			t.Errorf("%s: %d, %v", prefix, len(list), err)
		}
		for _, e := range list {
			if strings.Contains(string(e.Value), secret) {
				t.Errorf("%s has the token: %s", e.Key, e.Value)
			}
		}
	}
}

// TestACommandIsStoredOnce checks that the entry of each checkpoint is small, however long the command is, that the next manager finds both, and that a command without a job is deleted.
func TestACommandIsStoredOnce(t *testing.T) {
	store := mem.New("test")
	var mu sync.Mutex
	puts := map[string]int{}
	store.Fail = func(op, key string) error {
		if op == "put" {
			mu.Lock()
			defer mu.Unlock()
			puts[key]++
		}
		return nil
	}
	r := store.Open()
	u := bringUpAt(t, store, 1, 0)
	long := strings.Repeat("x", 60000)
	words := []string{"run=runs/a"}
	for range 8 {
		words = append(words, "cut", "awaits")
	}
	j := u.submit(append(words, "unknown="+long)...)
	if _, _, code := u.output(j.Job); code != 0 {
		t.Fatal(code)
	}
	for written := false; !written; {
		e, err := r.Get(t.Context(), jobstore.JobKey(j.Job))
		if err != nil || len(e.Value) > 4096 {
			t.Fatalf("%d bytes of job %d, %v", len(e.Value), j.Job, err)
		}
		written = strings.Contains(string(e.Value), `"state":"ended"`)
	}
	mu.Lock()
	if puts[jobstore.CommandKey(j.Job)] != 1 || puts[jobstore.JobKey(j.Job)] < 3 {
		t.Errorf("puts are %v", puts)
	}
	mu.Unlock()
	u.end() // as when the machine goes down
	if err := <-u.over; err != nil {
		t.Error(err)
	}
	u.over <- nil
	if _, err := r.Put(t.Context(), jobstore.CommandKey(99), []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	next := bringUpAt(t, store, 0, 0)
	s, err := next.client.Status(t.Context())
	if err != nil || len(s.Jobs) != 1 || !strings.HasSuffix(s.Jobs[0].Command, long) {
		t.Errorf("the next manager has %d jobs, %v", len(s.Jobs), err)
	}
	if _, err := next.client.Shutdown(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	next.over <- <-next.over
	left := map[string]bool{}
	for _, prefix := range []string{jobstore.JobsPrefix, jobstore.CommandsPrefix} {
		list, _, err := r.List(t.Context(), prefix)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			left[e.Key] = true
		}
	}
	if len(left) > 0 {
		t.Errorf("after down there are %s", fmt.Sprint(slices.Sorted(maps.Keys(left))))
	}
}
