//go:build !linux

package measure

import "time"

// Delayed returns 0: the operating system does not say how long threads were ready and had no processor.
func Delayed() time.Duration { return 0 }
