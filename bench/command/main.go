// Command command measures the command bellows as its user meets it: start, text to model, memory, checkpoints,
// interrupts and resumed runs.
//
// It runs every measurement, or those that --only names. The package comment of each says what it measures and needs.
package main

import (
	"bellows/bench/command/internal/checkpoint"
	"bellows/bench/command/internal/cold"
	"bellows/bench/command/internal/interrupt"
	"bellows/bench/command/internal/memory"
	"bellows/bench/command/internal/quiet"
	"bellows/bench/command/internal/resume"
	"bellows/bench/command/internal/start"
	"bellows/bench/internal/pair"
)

func main() {
	pair.Programs(resume.Program, checkpoint.Program, interrupt.Program, quiet.Program, cold.Program, start.Program, memory.Program)
}
