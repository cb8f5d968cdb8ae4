// Command mf compares matrix factorisation (app/mf) with LIBMF: on ratings, and on pairs without ratings.
//
// It also measures what several processes send. It runs every measurement, or those that --only names. The package comment of each says what it measures and needs.
package main

import (
	"bellows/bench/internal/pair"
	"bellows/bench/mf/internal/implicit"
	"bellows/bench/mf/internal/ratings"
	"bellows/bench/mf/internal/traffic"
)

func main() { pair.Programs(ratings.Program, implicit.Program, traffic.Program) }
