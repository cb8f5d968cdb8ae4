// Package clamp has a mutant of each fate.
package clamp

// Within moves x between two bounds. At a bound both branches give the same: that mutant changes nothing.
func Within(x, least int) int {
	if x < least {
		return least
	}
	return x
}

// Count says how often it was called. Only the schedules call it.
func Count() int {
	calls++
	return calls
}

var calls int

// Finish says that it is over. Without the call its test waits for ever.
func Finish(done chan bool) {
	close(done)
}

// Greet returns called by nobody.
func Greet() string {
	return "good" + " day"
}
