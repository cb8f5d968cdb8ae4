package cgroup

import (
	"io/fs"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  Limits
	}{
		"none":      {nil, Limits{}},
		"unlimited": {map[string]string{"/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/cpu.max": "max 100000", "/sys/fs/cgroup/a/memory.max": "max"}, Limits{}},
		"v2, the tightest above": {map[string]string{
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/cpu.max": "150000 100000\n", "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
			"/sys/fs/cgroup/a/b/memory.max": "1073741824\n", "/sys/fs/cgroup/a/b/memory.current": "1000\n",
			"/sys/fs/cgroup/a/memory.max": "2147483648\n", "/sys/fs/cgroup/a/b/memory.stat": "anon 300\ninactive_file 600\n",
		}, Limits{"v2", 1.5, 1 << 30, 1000, 600}},
		"v1": {map[string]string{
			"/proc/self/cgroup":                                    "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n",
			"/sys/fs/cgroup/cpu/cpu.cfs_quota_us":                  "50000",
			"/sys/fs/cgroup/cpu/cpu.cfs_period_us":                 "100000",
			"/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "536870912",
			"/sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes": "4096",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712",
			"/sys/fs/cgroup/memory/docker/x/memory.stat":           "inactive_file 1\ntotal_inactive_file 2048",
		}, Limits{"v1", 0.5, 512 << 20, 4096, 2048}},
		"v1, unlimited": {map[string]string{
			"/proc/self/cgroup":                    "5:cpu:/\n",
			"/sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1",
			"/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
		}, Limits{}},
	} {
		got := Read(func(path string) (string, error) {
			text, ok := c.files[path]
			if !ok {
				return "", fs.ErrNotExist
			}
			return strings.TrimSpace(text), nil
		})
		if got != c.want {
			t.Errorf("%s: %+v, not %+v", name, got, c.want)
		}
	}
}
