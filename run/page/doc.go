// Package page makes one HTML page of a training run: its curves, where its time went, what it read, how it was set, what its audit
// says, and how to go on. The page needs nothing but itself: no script, no other file, no network.
//
// The caller's duties, in order: Read the run's folder; add to the Run what the folder does not know, which is the Steps to go on (Next), and what the
// application says of itself; Write.
//
// The package refuses to guess: what the folder does not have is missing from the page, and what is damaged is named there. It changes nothing in the
// folder. Text of others is escaped wherever it stands.
package page
