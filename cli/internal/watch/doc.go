// Package watch shows running jobs of this user on the screen: the commands `status` and `top`, and the board that a
// training command posts for them.
//
// The duties of a training command, in order:
//
//  1. NewBoard, when the run's folder is known; then Event for every event and Epoch for every epoch, in order.
//  2. Post makes the board readable at a socket below the state folder, and at a loopback address if asked to.
//  3. End, when the job is over, and Close after the last report.
//
// A socket lies in the folder jobs below the state folder, and is named after the run's folder and its process. The
// next observer removes what a dead process left there.
//
// The package refuses other users if the system reports the caller, and addresses that other machines reach. It changes
// nothing in a job.
package watch
