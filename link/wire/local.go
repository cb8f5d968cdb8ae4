package wire

// Local is embedded by messages that never travel: those of a shell to an actor of its own node, in the queue with
// messages from others. The actor's package declares them, and they are used by pointer.
type Local struct{}

func (*Local) kind() uint8 { return 0 }
