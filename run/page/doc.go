// Package page makes one HTML page of a training run (`report`): curves, time, predicted times of other shapes, inputs,
// settings, the audit, and how to resume it. The page is self-contained: no script, no other file, no network.
//
// The caller's duties, in order: Read the run's folder; add to the Run what the folder does not know, which is the next
// Steps (Next), the command that explains shapes, and the application's description; Write.
//
// The package does not guess: what the folder lacks is missing from the page, and damaged parts are named there. It
// changes nothing in the folder. All text from elsewhere is escaped.
package page
