package wire

// Local is embedded by messages that never travel: what a shell tells an actor of its own node, in the queue with what others send it. An
// actor's package declares them, and they are used by pointer.
type Local struct{}

func (*Local) kind() uint8 { return 0 }
