// Package page makes one HTML page of a training run (`report`): curves, time, inputs, settings, the audit, and how to
// resume it. The page is self-contained: no script, no other file, no network.
//
// The caller's duties, in order: Read the run's folder; add to the Run what the folder does not know, which is the next
// Steps (Next) and the application's description of itself; Write.
//
// The package does not guess: what the folder lacks is missing from the page, and damaged parts are named there. It
// changes nothing in the folder. All text from elsewhere is escaped.
package page
