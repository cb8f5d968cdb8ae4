// Package dryrun is what would be done, and is not: `plan shape` prints the steps that lead from a cluster to another one.
//
// Its caller puts the Command below the root of its program. What is decided is package shape's, and the way there package plan's; the package asks them,
// carries the plan out on paper, and shows it.
//
// The package refuses to say how long a step takes: nobody has measured the cluster that a snapshot tells of.
package dryrun
