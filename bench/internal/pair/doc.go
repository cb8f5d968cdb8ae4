// Package pair measures two sides of a comparison in one run, in turns (A B A B ...), so that a result is a ratio and
// does not depend on the day.
//
// The caller's duties, in order:
//
//  1. Define the command's own flags, and let Main run it with its Bench: the common flags, and errors that end the run.
//  2. Describe what runs by Header, which adds the machine.
//  3. Make a Side for each contender. Its Run does one turn: enough work to last some tens of milliseconds (Repeat
//     finds how much). A contender in another process is a Child that answers one line for each line it is asked.
//  4. Race the sides, or Interleave them and Add rows: the Table prints each at once, and at the end how many missed their
//     target.
//
// Both clocks are taken of every turn: wall time, and CPU time of the process by getrusage. On a machine that others use
// too, CPU time is the one to believe for work on one thread; work on several threads is judged by wall time.
//
// The package refuses to print a ratio between figures that were not measured in the same run: a recorded figure is
// marked as recorded and stands without a ratio.
package pair
