package board

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
	"bellows/policy/gauge"
)

// StateFolder returns the state folder: the given one, or by default that of the user.
func StateFolder(state string) (string, error) {
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

// Folder returns the folder below the state folder that has the sockets of running jobs.
func Folder(state string) (string, error) {
	state, err := StateFolder(state)
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "jobs"), nil
}

// A Job is the socket of a running job.
type Job struct {
	Name string // of the run's folder
	PID  int
	path string
}

func (j Job) String() string { return fmt.Sprintf("%s (process %d)", j.Name, j.PID) }

var socketName = regexp.MustCompile(`^(.+)\.([1-9][0-9]{0,9})$`)

// Jobs returns the sockets in the folder, by name and process.
func Jobs(folder string) ([]Job, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.IO, Op: "look for running jobs in", Subject: folder, Err: err}
	}
	var list []Job
	for _, e := range entries {
		parts := socketName.FindStringSubmatch(e.Name())
		if parts == nil || e.Type() != fs.ModeSocket {
			continue
		}
		if pid, err := strconv.Atoi(parts[2]); err == nil {
			list = append(list, Job{parts[1], pid, filepath.Join(folder, e.Name())})
		}
	}
	slices.SortFunc(list, func(a, b Job) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.PID, b.PID)) })
	return list, nil
}

// called reports whether a word on the command line means the job: its name, its process, or both.
func (j Job) called(word string) bool {
	return word == j.Name || word == strconv.Itoa(j.PID) || word == filepath.Base(j.path)
}

// How long a job may take to answer, and how much it may say.
const (
	answerWithin = 5 * time.Second
	answerMost   = 64 << 20
)

// Status asks the job for its status.
func (j Job) Status(ctx context.Context) (api.Status, error) {
	return j.statusOver(ctx, func(ctx context.Context, _, _ string) (net.Conn, error) { return sock.DialLocal(ctx, j.path) })
}

// statusOver returns Status over a connection that dial makes.
func (j Job) statusOver(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error)) (s api.Status, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no answer within %v; is it stopped?", answerWithin))
	defer cancel()
	code, body, err := fetch(ctx, "/status", dial)
	if err == nil && code != http.StatusOK {
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

// fetch returns what a job answers to a request.
func fetch(ctx context.Context, path string, dial func(ctx context.Context, network, address string) (net.Conn, error)) (code int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, answerMost))
	return answer.StatusCode, body, err
}

// Figures asks the job for its figures. An error of kind Refused says why it has no figures yet, one
// of kind Config why it will have none.
func (j Job) Figures(ctx context.Context) (*gauge.Figures, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("no answer within %v; is it stopped?", answerWithin))
	defer cancel()
	code, body, err := fetch(ctx, "/figures", func(ctx context.Context, _, _ string) (net.Conn, error) { return sock.DialLocal(ctx, j.path) })
	var f *gauge.Figures
	switch {
	case err != nil:
	case code == http.StatusConflict:
		return nil, bellows.Errorf(bellows.Refused, "ask job", j.String(), "%s", strings.TrimSpace(string(body)))
	case code == http.StatusGone:
		return nil, bellows.Errorf(bellows.Config, "ask job", j.String(), "%s", strings.TrimSpace(string(body)))
	case code != http.StatusOK:
		err = errors.New(strings.TrimSpace(string(body)))
	default:
		f, err = gauge.Read(body)
	}
	if err != nil {
		return nil, j.silent(ctx, err)
	}
	return f, nil
}

// silent returns the error of a job that does not answer as it should.
func (j Job) silent(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &bellows.Error{Kind: bellows.Unavailable, Op: "ask job", Subject: j.String(), Err: err}
}

// Dead reports whether no process listens at the job's socket, by the error of Status. It removes the socket of a process that has ended.
func (j Job) Dead(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	if errors.Is(syscall.Kill(j.PID, 0), syscall.ESRCH) {
		os.Remove(j.path) // if it cannot be removed it is passed over next time too
	}
	return true
}

// An Answer is the status of a job, or the error with which it gave none.
type Answer struct {
	Job    Job
	Status api.Status
	Err    error
}

// Ask returns the status of the running jobs that word means, or of all if it is empty. Without any it returns an error that names what runs.
func Ask(ctx context.Context, state, word string) ([]Answer, error) {
	folder, err := Folder(state)
	if err != nil {
		return nil, err
	}
	all, err := Jobs(folder)
	if err != nil {
		return nil, err
	}
	var answers []Answer
	var others []Job
	for _, j := range all {
		if word != "" && !j.called(word) {
			others = append(others, j)
			continue
		}
		s, err := j.Status(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil || !j.Dead(err) {
			answers = append(answers, Answer{j, s, err})
		}
	}
	if len(answers) > 0 {
		return answers, nil
	}
	return nil, nothing(ctx, folder, word, others)
}

// nothing returns the error that says what runs instead of what was asked for.
func nothing(ctx context.Context, folder, word string, others []Job) error {
	none := &bellows.Error{Kind: bellows.Unavailable, Op: "find", Subject: "a running job", Err: fmt.Errorf("none in %s", folder)}
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
		none.Hint = "these jobs run: " + strings.Join(running, ", ")
	} else {
		none.Hint = "`status` shows jobs that train; `report RUN` shows one that has ended"
	}
	return none
}
