//go:build !unix

package node

import "time"

// processorTime returns 0: the operating system does not say how long processors have worked for this process.
func processorTime() time.Duration { return 0 }
