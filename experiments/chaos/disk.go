package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// diskBytes is the size of the disk that checkpoints are written to where it is to become full.
const diskBytes = 64 << 20

// mayMount returns why no disk can be made here; nil: one can.
func mayMount(folder string) error {
	at := filepath.Join(folder, "disk")
	if err := mount(at); err != nil {
		return fmt.Errorf("no disk in memory can be mounted, which root can: %w", err)
	}
	return errors.Join(unmount(at), os.Remove(at))
}

// mount makes a small disk, in memory.
func mount(at string) error {
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	_, err := command("mount", "-t", "tmpfs", "-o", fmt.Sprint("size=", diskBytes), "chaos", at)
	return err
}

// unmount takes it away.
func unmount(at string) error {
	_, err := command("umount", at)
	return err
}

// fill fills the disk of checkpoints, until some were given up for that, does something meanwhile, and makes room
// again.
func (j *job) fill(l *life, meanwhile func() (came, error)) (c came, err error) {
	name := filepath.Join(j.disk, "ballast")
	f, err := os.Create(name)
	if err != nil {
		return late, err
	}
	defer func() { err = errors.Join(err, os.Remove(name)) }()
	block := make([]byte, 64<<10)
	for n := 0; n <= diskBytes && err == nil; n += len(block) {
		_, err = f.Write(block)
	}
	if err = errors.Join(f.Close(), err); !errors.Is(err, syscall.ENOSPC) {
		return late, fmt.Errorf("the disk is not full: %w", err)
	}
	more := 1 + j.rng.IntN(3)
	c, _, err = l.await(fullMost, func(e event) bool {
		if noSpace(e) {
			more--
		}
		return more == 0
	})
	if c == over || err != nil || meanwhile == nil {
		return c, err
	}
	return meanwhile()
}

// fullMost is how long no checkpoint need be given up on a full disk: some are written twice a minute, where the last took long.
const fullMost = 4 * time.Second

// noSpace reports whether an event says that a checkpoint was given up for lack of space.
func noSpace(e event) bool {
	return e.Kind == "waiting" && strings.Contains(e.Sentence, "was given up") && strings.Contains(e.Sentence, "no space is left")
}
