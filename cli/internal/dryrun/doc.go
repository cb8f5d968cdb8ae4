// Package dryrun prints what would be done: `plan shape` prints the steps that lead from one cluster to another.
//
// Its caller puts the Command below the root of its program. Package shape decides the goal, and package plan the way
// there; this package calls them, simulates the plan, and prints it.
//
// It does not estimate how long a step takes: the cluster of a snapshot has not been measured.
package dryrun
