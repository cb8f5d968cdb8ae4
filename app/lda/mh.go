package lda

import "bellows/train"

type mh struct{}

func (w *space) loadMH(t *train.Task, u *unit) {}

func (w *space) sampleMH(tokens, z []int32, rng stream) {}
