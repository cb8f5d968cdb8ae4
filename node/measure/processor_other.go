//go:build !unix

package measure

import "time"

// ProcessorTime returns 0: the operating system does not say how long processors have worked for this process.
func ProcessorTime() time.Duration { return 0 }
