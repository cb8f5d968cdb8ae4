// Command members runs etcd servers for tests and benchmarks.
//
//	members FOLDER        runs a cluster of three, a, b and c, each as a process, until SIGINT
//	members FOLDER NAME   runs one of them, until its standard input ends, and prints "ready" when it answers
//
// They listen at Unix sockets of the folder: clients call unix://FOLDER/a:1. When all three are ready their process ids are in members.json there. All end after five minutes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"bellows/port/registry/etcd/etcdtest/member"
)

// runsFor limits the time that servers run after their test was killed.
const runsFor = 5 * time.Minute

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, runsFor)
	defer stop()
	err := errors.New("usage: members FOLDER [NAME]")
	switch len(os.Args) {
	case 2:
		err = runAll(ctx, os.Args[1])
	case 3:
		err = runOne(ctx, os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runOne runs a member until its standard input ends.
func runOne(ctx context.Context, folder, name string) error {
	if err := os.Chdir(folder); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // wait for its end
		cancel()
	}()
	return member.Run(ctx, member.Config{Folder: "data-" + name, Name: name, Client: "unix://" + name + ":1", Peer: "unix://" + name + ":2",
		Cluster: "a=unix://a:2,b=unix://b:2,c=unix://c:2"}, func() { fmt.Println("ready") })
}

// runAll starts three members and waits for ctx.
func runAll(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ids := map[string]map[string]int{}
	ready := make(chan error, 3)
	for _, name := range []string{"a", "b", "c"} {
		cmd := exec.Command(self, folder, name)
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		ids[name] = map[string]int{"pid": cmd.Process.Pid}
		go func() {
			_, err := io.ReadFull(out, make([]byte, len("ready\n")))
			ready <- err
			_ = cmd.Wait() // a killed one must not stay a zombie
		}()
	}
	for range ids {
		if err := <-ready; err != nil {
			return err
		}
	}
	text, err := json.Marshal(ids)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "members.json"), append(text, '\n'), 0o600)
	}
	if err == nil {
		<-ctx.Done()
	}
	return err
}
