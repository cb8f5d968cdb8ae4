package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bellows"
	"bellows/api"
	"bellows/link/transport/sock"
)

// Folder is the state folder that was given, or the user's.
func Folder(state string) (string, error) {
	if state == "" {
		if state = os.Getenv("XDG_STATE_HOME"); !filepath.IsAbs(state) {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", bellows.Errorf(bellows.Config, "find", "the state folder", "%w; give it with --state", err)
			}
			state = filepath.Join(home, ".local", "state")
		}
		state = filepath.Join(state, "bellows")
	}
	return state, nil
}

// jobsFolder is where the sockets of running jobs are: below the state folder.
func jobsFolder(state string) (string, error) {
	state, err := Folder(state)
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "jobs"), nil
}

// StateFolder is where sockets of running jobs are without --state; empty where no such folder is known.
func StateFolder() string {
	folder, err := jobsFolder("")
	if err != nil {
		return ""
	}
	return folder
}

// job is a running job's socket.
type job struct {
	name string // of the run's folder
	pid  int
	path string
}

func (j job) String() string { return fmt.Sprintf("%s (process %d)", j.name, j.pid) }

var socketName = regexp.MustCompile(`^(.+)\.([1-9][0-9]{0,9})$`)

// jobs are the sockets in the folder, by name and process.
func jobs(folder string) ([]job, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.IO, Op: "look for running jobs in", Subject: folder, Err: err}
	}
	var list []job
	for _, e := range entries {
		parts := socketName.FindStringSubmatch(e.Name())
		if parts == nil || e.Type() != fs.ModeSocket {
			continue
		}
		if pid, err := strconv.Atoi(parts[2]); err == nil {
			list = append(list, job{parts[1], pid, filepath.Join(folder, e.Name())})
		}
	}
	slices.SortFunc(list, func(a, b job) int { return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.pid, b.pid)) })
	return list, nil
}

// called reports whether a word on the command line means the job: its name, its process, or both.
func (j job) called(word string) bool {
	return word == j.name || word == strconv.Itoa(j.pid) || word == filepath.Base(j.path)
}

// How long a job may take to answer, and how much it may say.
const (
	answerWithin = 5 * time.Second
	answerMost   = 64 << 20
)

// status asks a job.
func (j job) status(ctx context.Context) (api.Status, error) {
	return j.statusOver(ctx, func(ctx context.Context, _, _ string) (net.Conn, error) { return sock.DialLocal(ctx, j.path) })
}

// statusOver is status over a connection that dial makes.
func (j job) statusOver(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error)) (s api.Status, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no answer within %v; is it stopped?", answerWithin))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/status", nil)
	if err != nil {
		return s, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	answer, err := client.Do(r)
	if err != nil {
		return s, j.silent(ctx, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, answerMost))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(body)))
	}
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err != nil {
		return s, j.silent(ctx, err)
	}
	return s, nil
}

// silent is the error of a job that does not answer as it should.
func (j job) silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &bellows.Error{Kind: bellows.Unavailable, Op: "ask job", Subject: j.String(), Err: err}
}

// dead reports whether nobody listens at the job's socket, and takes away one whose process is no more.
func (j job) dead(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	if errors.Is(syscall.Kill(j.pid, 0), syscall.ESRCH) {
		os.Remove(j.path) // if it cannot be removed it is passed over next time too
	}
	return true
}

// answer is what a job said, or why it said nothing.
type answer struct {
	job
	api.Status
	err error
}

// ask asks the running jobs that word means, or all if it is empty. None at all is an error.
func ask(ctx context.Context, state, word string) ([]answer, error) {
	folder, err := jobsFolder(state)
	if err != nil {
		return nil, err
	}
	all, err := jobs(folder)
	if err != nil {
		return nil, err
	}
	var answers []answer
	var others []job
	for _, j := range all {
		if word != "" && !j.called(word) {
			others = append(others, j)
			continue
		}
		s, err := j.status(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil || !j.dead(err) {
			answers = append(answers, answer{j, s, err})
		}
	}
	if len(answers) > 0 {
		return answers, nil
	}
	return nil, nothing(ctx, folder, word, others)
}

// nothing is the error that says what runs instead of what was asked for.
func nothing(ctx context.Context, folder, word string, others []job) error {
	none := &bellows.Error{Kind: bellows.Unavailable, Op: "find", Subject: "a running job", Err: fmt.Errorf("there is none in %s", folder)}
	if word != "" {
		none.Subject, none.Err = "job "+word, errors.New("it is not running")
	}
	var running []string
	for _, j := range others {
		if c, err := sock.DialLocal(ctx, j.path); err == nil {
			running = append(running, filepath.Base(j.path))
			c.Close()
		}
	}
	if len(running) > 0 {
		none.Hint = "running are " + strings.Join(running, ", ")
	} else {
		none.Hint = "a job is here while it trains; `report RUN` shows one that has ended"
	}
	return none
}
