// Package planted switches on planted protocol bugs, one at a time, by which tests show that the simulation finds
// bugs.
//
// A planted bug is one condition in the code that it breaks, and nothing more:
//
//	if l.knows(m.Flush) && !planted.On("push-twice") {
//
// Its name stands there and nowhere else: kebab-case, a literal, so that the list of all bugs is read from the source
// (sim's TestPlanted does so). In an ordinary build On is constantly false, and the compiler removes the condition. With
// the build tag "planted" a test turns one bug on at a time.
package planted
