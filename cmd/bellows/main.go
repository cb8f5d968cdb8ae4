// Command bellows trains machine-learning models: one file in, a table of losses and a model out.
// README.md and `bellows help` say what there is.
package main

import (
	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli"
)

func main() { cli.Main(mf.New(), mlr.New(), lda.New(), linear.New()) }
