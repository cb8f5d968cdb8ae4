package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"bellows/port/registry/etcd/member"
)

// memberVariable names a member of an etcd cluster that a process of this program is to be.
const memberVariable = "_CLITEST_MEMBER"

// membersFor is how long an etcd cluster of a script is there at most.
const membersFor = 5 * time.Minute

// members is a program for scripts, `members FOLDER`: an etcd cluster of three processes, a, b and c, which listen at Unix sockets of the folder (a:1 for clients). When all are ready their numbers are in
// members.json there. It ends with SIGINT, and the members with it.
func members() {
	if name := os.Getenv(memberVariable); name != "" {
		end(oneMember(name))
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	end(threeMembers(ctx, os.Args[1]))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// oneMember is a member, until its standard input ends.
func oneMember(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), membersFor)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is what is waited for
		cancel()
	}()
	return member.Run(ctx, member.Config{Folder: "data-" + name, Name: name, Client: "unix://" + name + ":1", Peer: "unix://" + name + ":2",
		Cluster: "a=unix://a:2,b=unix://b:2,c=unix://c:2"}, func() { fmt.Println("ready") })
}

// threeMembers starts them and waits for ctx.
func threeMembers(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	numbers := map[string]map[string]int{}
	ready := make(chan error, 3)
	for _, name := range []string{"a", "b", "c"} {
		cmd := exec.Command(self)
		cmd.Args[0], cmd.Dir, cmd.Env, cmd.Stderr = "members", folder, append(os.Environ(), memberVariable+"="+name), os.Stderr
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
		numbers[name] = map[string]int{"pid": cmd.Process.Pid}
		go func() {
			_, err := io.ReadFull(out, make([]byte, len("ready\n")))
			ready <- err
			_ = cmd.Wait() // so that one that is killed has gone
		}()
	}
	for range numbers {
		if err := <-ready; err != nil {
			return err
		}
	}
	text, err := json.Marshal(numbers)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "members.json"), append(text, '\n'), 0o600)
	}
	if err == nil {
		<-ctx.Done()
	}
	return err
}
