// Package watch lets a running job be looked at from other processes: a training command posts its board, and the
// commands status and top read those of all jobs of the user.
//
// The duties of a training command, in order:
//
//  1. NewBoard, when the run's folder is known; then Event for every event and Epoch for every epoch, in order.
//  2. Post makes the board readable at a socket below the state folder, and at a loopback address if asked to.
//  3. End, when the job is over, and Close when there is nothing more to say.
//
// A socket lies in the folder jobs below the state folder, and is called after the run's folder and its process.
// What a dead process left there is removed by whoever looks next.
//
// The package refuses other users where the system tells who asks, and addresses that other machines reach. It
// changes nothing in a job.
package watch
