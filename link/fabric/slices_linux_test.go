package fabric

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"bellows/internal/require"
)

// TestSlicesOfAllThreadsAreShort looks at the threads of the process, and at those that start afterwards. Other settings
// of the threads stay as they were. Kernels without slices of single threads ignore the request.
func TestSlicesOfAllThreadsAreShort(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	require.NoError(t, err)
	want := uint64(slice)
	if before.Runtime == 0 { // before Linux 6.12
		want = 0
	}
	ShortenSlices()
	var ends sync.WaitGroup
	quit := make(chan bool)
	for range 8 { // a locked goroutine gets its own thread
		started := make(chan bool)
		ends.Go(func() {
			runtime.LockOSThread()
			started <- true
			<-quit
			runtime.UnlockOSThread()
		})
		<-started
	}
	list, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, entry := range list {
		thread, err := strconv.Atoi(entry.Name())
		require.NoError(t, err)
		after, err := unix.SchedGetAttr(thread, 0)
		if err != nil {
			continue // it has ended
		}
		if after.Runtime != want || after.Policy != before.Policy || after.Nice != before.Nice {
			t.Errorf("thread %d: slice %d ns, policy %d, nice %d", thread, after.Runtime, after.Policy, after.Nice)
		}
	}
	close(quit)
	ends.Wait()
}
