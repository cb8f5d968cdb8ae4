package lda

import (
	"slices"

	"bellows/app/epochs"
	"bellows/train"
)

// policy is what is decided between epochs: α, and which epoch is the best one.
type policy struct {
	p     *problem
	alpha []float64 // of this epoch
	kept  []float64 // α of the model that is returned
}

// betterLeast is the gain of held-out likelihood per token that counts for patience.
const betterLeast = 0.0005

func newPolicy(p *problem) *policy {
	first := p.config.alpha
	if first == 0 {
		first = min(alphaTotal/float64(p.topics), alphaEach)
	}
	alpha := slices.Repeat([]float64{first}, p.topics)
	if p.warm != nil && p.config.alpha == 0 {
		alpha = p.warm.first()
	}
	return &policy{p: p, alpha: alpha, kept: slices.Clone(alpha)}
}

// driver is that of the policy's run, whose first clock gives topics to tokens.
func (k *policy) driver() *epochs.Driver {
	results := epochs.Results{Train: k.p.topics + 1, Score: gotScore}
	return epochs.New(k.p.work(), epochs.OrderOf(k.p.consistency), k.p.Ending, results, k)
}

// Train implements epochs.Policy: whether α is to learn, and α.
func (k *policy) Train(args []float64, p *epochs.Progress, _, _ int) []float64 {
	learns := 0.0
	if k.p.learns(p.Epoch) {
		learns = 1
	}
	return append(append(args, learns), k.alpha...)
}

// Score implements epochs.Policy: α, after it has learned from the statistics of the sweep.
func (k *policy) Score(p *epochs.Progress, trained []float64) []float64 {
	if k.p.learns(p.Epoch) {
		learn(k.alpha, trained)
	}
	return k.alpha
}

// End implements epochs.Policy.
func (k *policy) End(p *epochs.Progress, _, scores []float64) epochs.Verdict {
	loss := -scores[gotHeld] / float64(k.p.held) // NaN without held-out tokens
	best := p.Judge(loss, p.Marked-betterLeast, true)
	metrics := k.metrics(scores)
	if !k.p.EarlyStop || best || k.p.Goal.Reached(metrics) {
		copy(k.kept, k.alpha)
	}
	return epochs.Verdict{Metrics: metrics, Keep: best && k.p.EarlyStop}
}

func (k *policy) metrics(score []float64) []train.Metric {
	m := []train.Metric{{Name: "train_loglik_per_token", Value: score[gotTrain] / float64(k.p.sampled)}}
	test, tokens := score[gotTest], k.p.tested
	if !k.p.shown {
		test, tokens = score[gotHeld], k.p.held
	}
	if tokens > 0 {
		m = append(m, train.Metric{Name: "test_loglik_per_token", Value: test / float64(tokens)})
	}
	return m
}

// Save implements epochs.Policy.
func (k *policy) Save() []float64 { return slices.Concat(k.alpha, k.kept) }

// Restore implements epochs.Policy.
func (k *policy) Restore(s []float64) { copy(k.kept, s[copy(k.alpha, s):]) }
