package main

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bellows/bench/internal/pair"
	"bellows/data"
	"bellows/data/demo"
)

func made(t *testing.T) *corpus {
	t.Helper()
	set, err := demo.Make(data.Documents, seed)
	if err != nil {
		t.Fatal(err)
	}
	return divide(set, "made")
}

// TestPeersReadTheTrainingDocuments checks that they read no others.
func TestPeersReadTheTrainingDocuments(t *testing.T) {
	t.Parallel()
	c := made(t)
	path := filepath.Join(t.TempDir(), "corpus")
	c.write(path)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int32, len(raw)/4)
	if _, err := binary.Decode(raw, binary.LittleEndian, got); err != nil {
		t.Fatal(err)
	}
	docs := c.train.Documents
	want := []int32{int32(docs.Rows()), int32(len(docs.Vocab)), int32(len(docs.Word))}
	for _, at := range docs.Offset {
		want = append(want, int32(at))
	}
	if want = append(append(want, docs.Word...), docs.Count...); !slices.Equal(got, want) {
		t.Errorf("%d numbers, not the %d of the training documents", len(got), len(want))
	}
	if n := c.test.Documents.Rows(); n < 100 || n > 300 || n+docs.Rows() != 2000 {
		t.Errorf("%d documents are held out of %d", n, n+docs.Rows())
	}
}

// Flat topics are worth the logarithm of the vocabulary, whatever the weights; a file of another size is refused.
func TestTopicsOfPeersAreScored(t *testing.T) {
	t.Parallel()
	c := made(t)
	words := len(c.train.Documents.Vocab)
	values := make([]float32, speedTopics*(words+1))
	for i := range values {
		values[i] = 1 / float32(words)
	}
	raw, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "topics")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.score(path); err != nil || math.Abs(got+math.Log(float64(words))) > 1e-4 {
		t.Errorf("flat topics are worth %v, %v; want %v", got, err, -math.Log(float64(words)))
	}
	if err := os.WriteFile(path, raw[4:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.score(path); err == nil {
		t.Error("topics without the first number were scored")
	}
}

// TestReachedIsTheFirstGoodSweep checks that the cost to a likelihood is that up to the first sweep with it.
func TestReachedIsTheFirstGoodSweep(t *testing.T) {
	t.Parallel()
	c := made(t)
	out := c.setup(5, 4, samplers[0]).Train()
	second, ok := out.Metric(loglik, 2)
	if !ok {
		t.Fatal("no likelihood after two sweeps")
	}
	if got, sweep := out.First(loglik, second); got < second || sweep > 2 {
		t.Errorf("reached %v after %d sweeps, want %v after 2 at most", got, sweep, second)
	}
	if got, sweep := out.First(loglik, 0); sweep != 4 || got >= 0 {
		t.Errorf("the likelihood of certainty was reached after %d sweeps: %v", sweep, got)
	}
	tokens := float64(c.train.Documents.Tokens())
	for sweep := 1; sweep <= 4; sweep++ {
		if at := out.Until(sweep); at.Work != tokens*float64(sweep) || at.Wall <= 0 {
			t.Errorf("to sweep %d: %+v; want %v tokens", sweep, at, tokens*float64(sweep))
		}
	}
	if pair.Attempt(func() { out.Until(5) }) == nil {
		t.Error("a run of four sweeps has a fifth")
	}
}
