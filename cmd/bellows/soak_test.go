//go:build soak

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func init() {
	buildMembers = func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "members")
		command := exec.Command("go", "build", "-C", "../../port/registry/etcd/etcdtest", "-o", path, "./members")
		command.Env = append(os.Environ(), "GOWORK=off")
		if text, err := command.CombinedOutput(); err != nil {
			t.Fatalf("build the program that runs etcd servers: %v\n%s", err, text)
		}
		return path
	}
}
