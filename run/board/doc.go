// Package board lets other processes of the same user read a running job at a socket: the training process posts a
// board, and readers find it.
//
// The duties of a process that trains, in order:
//
//  1. New, when the run's folder is known; then Event for every event and Epoch for every epoch, in order.
//  2. Post makes the board readable at a socket below the state folder, and at a loopback address if one is given.
//  3. End, when the job is over, and Close after the last event.
//
// A reader calls Ask, or Jobs and then Status of each job.
//
// A socket lies in the folder jobs below the state folder. Its name is that of the run's folder and the number of the
// process. Readers remove the sockets of processes that have ended.
//
// The package refuses other users where the system names the user of a connection, and addresses that other machines
// reach. It changes nothing in a job.
package board
