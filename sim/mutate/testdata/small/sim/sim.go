// Package sim plays clamp.
package sim

import "small/clamp"

// Run counts.
func Run() int { return clamp.Count() }
