//go:build planted

package planted

var active string

// Plant turns one bug on, and every other off; "" turns all off. It is for a test's own goroutine: nothing else may run
// meanwhile.
func Plant(bug string) { active = bug }

// On reports whether the bug is planted.
func On(bug string) bool { return active == bug }
