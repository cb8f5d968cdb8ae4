package node

// Shorten makes parts of messages, and messages in parts, at most so many bytes long; 0: as long as the format lets them be.
func (o Options) Shorten(part, message int) Options {
	o.partMost, o.messageMost = part, message
	return o
}
