//go:build soak

package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

func init() {
	buildMembers = func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "members")
		if text, err := exec.Command("go", "build", "-C", "../../port/registry/etcd/etcdtest", "-o", path, "./members").CombinedOutput(); err != nil {
			t.Fatalf("build the program that runs etcd servers: %v\n%s", err, text)
		}
		return path
	}
}
