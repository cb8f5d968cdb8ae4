package cluster

import (
	"bytes"
	"fmt"
	"os"
)

// stopped reports whether a process of this machine is stopped, by a signal or a debugger. Without /proc it returns
// false.
func stopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// after the name, which may have any bytes
	_, state, found := bytes.Cut(text[max(0, bytes.LastIndexByte(text, ')')):], []byte(") "))
	return found && len(state) > 0 && (state[0] == 'T' || state[0] == 't')
}
