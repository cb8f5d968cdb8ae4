//go:build planted

package planted

var active Bug

// Plant turns one bug on, and every other off; None turns all off. It is for a test's own
// goroutine: nothing else may run meanwhile.
func Plant(b Bug) { active = b }

// On reports whether the bug is planted.
func On(b Bug) bool { return active == b }
