// Package epochs is the driver of a run that passes over its data again and again: what the applications of this tree
// have in common. An epoch is a number of clocks in which every split trains, and one in which every split scores the rows
// that are held out; then the run is judged, and goes on or ends.
//
// The caller's duties, in order:
//
//  1. Say the Layout of the run. Executors ask Layout.Place what a task's clock is for.
//  2. Read the Ending from the settings early_stop and patience, which the application must describe.
//  3. Implement Policy: the arguments of tasks, and the judgement of an epoch by the sums of their results.
//  4. Give New's driver to the job.
//
// Results are kept by (split, clock) and added up in that order, so that sums have the same bits whatever completes first.
// All that a driver knows is in Save, so that another controller can go on after any record (traintest.CanBeSaved of each
// application holds that).
//
// The package refuses to know what is learned: it moves numbers between tasks and a Policy, and orders them.
package epochs
