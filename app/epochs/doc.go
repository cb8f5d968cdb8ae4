// Package epochs is the driver (train.Driver) of applications that pass over their data repeatedly: it dispatches
// epochs, scores them, and stops by a policy. An epoch is a number of clocks in which every split trains, and one in
// which every split scores the held-out rows. Then the policy judges the run, which continues or ends. The caller's
// duties, in order:
//
//  1. Set the Layout of the run. Executors call Layout.Place for the purpose of a task's clock.
//  2. Read the Ending from the settings early_stop and patience, which the application must describe.
//  3. Implement Policy: the arguments of tasks, and the judgement of an epoch by the sums of their results.
//  4. Give New's driver to the job.
//
// Results are kept by (split, clock) and added in that order, so that sums have the same bits whatever completes first.
// The whole state of a driver is in Save, so that another controller can continue after any record
// (traintest.CanBeSaved of each application holds that).
//
// The package does not know what is learned: it moves numbers between tasks and a Policy, and orders them.
package epochs
