package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bellows"
	"bellows/link/secure"
	"bellows/run/board"
)

// Folder is where a cluster of this machine keeps what concerns it: below the state folder, with mode 0700.
type Folder struct{ Path string }

// The files of the folder.
const (
	recordName  = "manager.json"
	tokenName   = "token"       // mode 0600
	lockName    = "lock"        // the manager has it
	membersName = "members"     // locked by the manager and all that descend from it
	logName     = "manager.log" // what the manager and its agents say
)

// Whereabouts says where a manager is.
type Whereabouts struct {
	PID     int       `json:"pid"`
	Address string    `json:"address"` // HOST:PORT of its API
	Program string    `json:"program"`
	Started time.Time `json:"started"`
}

// FindFolder returns the folder of the cluster below a state folder, "" being the user's.
func FindFolder(state string) (Folder, error) {
	root, err := board.StateFolder(state)
	if err != nil {
		return Folder{}, err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return Folder{}, bellows.Errorf(bellows.IO, "find", root, "%w", err)
	}
	return Folder{filepath.Join(root, "cluster")}, nil
}

// Make makes the folder, which other users may not enter.
func (f Folder) Make() error {
	err := os.MkdirAll(f.Path, 0o700)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Lstat(f.Path)
	}
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(f.Path, 0o700)
	}
	if err != nil {
		return bellows.Errorf(bellows.CannotWrite, "make", f.Path, "%w", bellows.Pathless(err)).Hinted("give another folder with --state")
	}
	return nil
}

func (f Folder) file(name string) string { return filepath.Join(f.Path, name) }

// Log returns the file of what the manager says.
func (f Folder) Log() string { return f.file(logName) }

// Keep stores the token of the cluster.
func (f Folder) Keep(t secure.Token) error { return f.put(tokenName, []byte(t.Text()+"\n")) }

// Token returns the token of the cluster.
func (f Folder) Token() (t secure.Token, err error) {
	text, err := os.ReadFile(f.file(tokenName))
	if err == nil {
		t, err = secure.ParseToken(strings.TrimSpace(string(text)))
	}
	if err != nil {
		return t, bellows.Errorf(bellows.Unavailable, "read", f.file(tokenName), "%w", bellows.Pathless(err)).Hinted("`down` ends the cluster all the same, and `up` makes another token")
	}
	return t, nil
}

// put writes a file of mode 0600, whole or not at all.
func (f Folder) put(name string, text []byte) error {
	temporary := f.file("." + name)
	err := os.WriteFile(temporary, text, 0o600)
	if err == nil {
		err = os.Chmod(temporary, 0o600) // one that was there keeps its mode
	}
	if err == nil {
		err = os.Rename(temporary, f.file(name))
	}
	if err != nil {
		return bellows.Errorf(bellows.CannotWrite, "write", f.file(name), "%w", bellows.Pathless(err))
	}
	return nil
}

// Write stores where the manager is.
func (f Folder) Write(r Whereabouts) error {
	text, err := json.Marshal(r)
	if err != nil {
		return bellows.Errorf(bellows.Bug, "write", recordName, "%w", err)
	}
	return f.put(recordName, append(text, '\n'))
}

// Read returns where a manager is or was; nil if there is none.
func (f Folder) Read() (*Whereabouts, error) {
	text, err := os.ReadFile(f.file(recordName))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	var r Whereabouts
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, f.foreign("read", recordName, err)
	}
	if err != nil {
		return nil, bellows.Errorf(bellows.IO, "read", f.file(recordName), "%w", bellows.Pathless(err)).Hinted("`down` takes it away, and ends the cluster if one is up")
	}
	return &r, nil
}

// foreign returns the error of a folder that this user may not look into.
func (f Folder) foreign(op, name string, err error) error {
	return bellows.Errorf(bellows.Refused, op, f.file(name), "%w: the folder is another user's", bellows.Pathless(err)).
		Hinted("give one of your own with --state, or --cluster HOST:PORT with that user's token")
}

// Forget removes the record and the token.
func (f Folder) Forget() error {
	err := errors.Join(os.Remove(f.file(recordName)), os.Remove(f.file(tokenName)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return bellows.Errorf(bellows.CannotWrite, "remove", f.Path, "%w", err)
	}
	return nil
}

// lock opens a file of the folder and locks it, with or without waiting. It returns nil if another process holds the
// lock.
func (f Folder) lock(name string, how int) (*os.File, error) {
	file, err := os.OpenFile(f.file(name), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, err
	}
	if err == nil {
		err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, file.Close()
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, f.foreign("lock", name, err)
	}
	if err != nil {
		return nil, bellows.Errorf(bellows.CannotWrite, "lock", f.file(name), "%w", bellows.Pathless(err)).Hinted("give another folder with --state")
	}
	return file, nil
}

// Hold locks the folder for a manager, and notes its process; nil: another one has it.
func (f Folder) Hold() (*os.File, error) {
	file, err := f.lock(lockName, syscall.LOCK_EX)
	if file == nil || err != nil {
		return nil, err
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	}
	if err != nil {
		return nil, errors.Join(bellows.Errorf(bellows.CannotWrite, "write", f.file(lockName), "%w", bellows.Pathless(err)), file.Close())
	}
	return file, nil
}

// Holder returns the manager's process, where one has the folder.
func (f Folder) Holder() (int, error) {
	text, err := os.ReadFile(f.file(lockName))
	pid := 0
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err == nil && pid < 2 {
		err = fmt.Errorf("%d is the number of no manager", pid)
	}
	if err != nil {
		return 0, bellows.Errorf(bellows.Unavailable, "read", f.file(lockName), "%w", bellows.Pathless(err)).Hinted("end the processes that have it open: `lsof " + f.file(lockName) + "` names them")
	}
	return pid, nil
}

// Members opens the lock that all processes of the cluster inherit.
func (f Folder) Members() (*os.File, error) {
	file, err := f.lock(membersName, syscall.LOCK_SH)
	if err == nil && file == nil {
		err = bellows.Errorf(bellows.Unavailable, "lock", f.file(membersName), "another process reads it").Hinted("call the command again")
	}
	return file, err
}

// Up reports whether a manager has the folder.
func (f Folder) Up() (bool, error) { return f.taken(lockName) }

func (f Folder) taken(name string) (bool, error) {
	file, err := f.lock(name, syscall.LOCK_SH)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return false, nil
	case err != nil:
		return false, err
	case file == nil:
		return true, nil
	}
	return false, file.Close()
}

// emptyEvery is how often Empty looks.
const emptyEvery = 20 * time.Millisecond

// Empty waits until no process of a cluster that was in the folder runs any more, and errs when ctx ends before.
func (f Folder) Empty(ctx context.Context) error {
	ticker := time.NewTicker(emptyEvery)
	defer ticker.Stop()
	for {
		file, err := f.lock(membersName, syscall.LOCK_EX)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return nil
		case err != nil:
			return err
		case file != nil:
			return file.Close()
		}
		select {
		case <-ctx.Done():
			return bellows.Errorf(bellows.Unavailable, "wait for the end of", "the cluster's processes", "%w; some have the file %s open", context.Cause(ctx), f.file(membersName)).
				Hinted(fmt.Sprintf("`lsof %s` names them", f.file(membersName)))
		case <-ticker.C:
		}
	}
}
