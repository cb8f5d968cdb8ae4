package validate

// Checked reports whether there is a check for a kind.
func Checked(kind uint8) bool { return checks[kind].judge != nil }
