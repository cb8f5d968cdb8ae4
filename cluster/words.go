package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"bellows"
)

// Node is a node of the cluster, as `status --json` has it.
type Node struct {
	ID         string   `json:"id"`    // "node-1"
	PID        int      `json:"pid"`   // of its process in the job that runs, else of its agent
	Roles      []string `json:"roles"` // "worker", "server"
	Tier       string   `json:"tier"`
	State      State    `json:"state"`
	Splits     int      `json:"splits"`
	Partitions int      `json:"partitions"`
	Slots      int      `json:"slots"`
	Host       string   `json:"host"`          // where the others reach it
	Agent      int      `json:"agent"`         // its agent's process
	Job        int      `json:"job,omitempty"` // that it has a process in
	Why        string   `json:"why,omitempty"` // it is gone
}

// State is how far a node or a job is.
type State string

// The states of nodes and of jobs.
const (
	Idle        State = "idle"
	Running     State = "running"
	Leaving     State = "leaving"
	Gone        State = "gone" // a node that was lost
	Queued      State = "queued"
	Ended       State = "ended"
	Failed      State = "failed"
	Interrupted State = "interrupted"
)

// Job is a job of the cluster, as `jobs --json` has it.
type Job struct {
	Job       int        `json:"job"` // its number
	State     State      `json:"state"`
	App       string     `json:"app"`
	Command   string     `json:"command"`
	Run       string     `json:"run"`   // its folder; "": not known yet
	Dir       string     `json:"dir"`   // where it was submitted
	PID       int        `json:"pid"`   // of the process that leads it; 0: none
	Ahead     int        `json:"ahead"` // jobs that come before it
	Submitted time.Time  `json:"submitted"`
	Began     *time.Time `json:"began,omitempty"`
	Ended     *time.Time `json:"ended,omitempty"`
	ExitCode  *int       `json:"exit_code,omitempty"`
	// Term counts the processes that have led it, of all managers.
	Term int `json:"term"`
	// Checkpoint is the last one from which the job would resume; nil: there is none, or none was reported.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`
	// Recoveries are the deaths that it has survived, the last ones.
	Recoveries []Recovery `json:"recoveries,omitempty"`
}

// Status is a cluster at one moment.
type Status struct {
	Cluster string    `json:"cluster"` // the address of its manager
	PID     int       `json:"pid"`     // of that
	Program string    `json:"program"`
	Started time.Time `json:"started"`
	Nodes   []Node    `json:"nodes"`
	Jobs    []Job     `json:"jobs"`
	// Registry says why the registry does not answer; "": it does.
	Registry string `json:"registry,omitempty"`
	// Recovered is what became of the jobs of a manager that has ended without `down`.
	Recovered []string `json:"recovered,omitempty"`
}

// Count returns how many nodes with a role take part.
func (s *Status) Count(role string) (n int) {
	for i := range s.Nodes {
		if s.Nodes[i].State != Gone && slices.Contains(s.Nodes[i].Roles, role) {
			n++
		}
	}
	return n
}

// A Submission is a job that a user wants to run.
type Submission struct {
	App     string   `json:"app"`
	Word    string   `json:"word"` // by which the program was called
	Args    []string `json:"args"`
	Env     []string `json:"env"` // BELLOWS_*
	Dir     string   `json:"dir"` // where paths begin
	Run     string   `json:"run"` // its folder where it is known
	Program Program  `json:"program"`
	// Terminal is the screen of a user who follows the job as if it ran there; nil: there is none.
	Terminal *Terminal `json:"terminal,omitempty"`
}

// A Terminal is a screen as the two streams of a command see it: its width, and which of the streams it shows.
type Terminal struct {
	Columns int  `json:"columns"`
	Out     bool `json:"out"`
	Err     bool `json:"err"`
}

// wordsMost is the length of the longest command in bytes. commandMost is that of command, variables and folder together, as JSON: a process of the job is started by one line of a session
// (lineMost), which must have room for them and for what the leading process adds.
const (
	wordsMost   = 1 << 16
	commandMost = lineMost / 4
)

// Check refuses a submission that cannot be started: one without a command, with a relative folder, with variables that are no flags, or too long to travel.
func (s *Submission) Check() error {
	if len(s.Args) == 0 || !filepath.IsAbs(s.Dir) {
		return bellows.Errorf(bellows.Usage, "submit", s.App, "the command is missing, or its folder is not absolute")
	}
	for _, v := range s.Env {
		if !strings.HasPrefix(v, "BELLOWS_") {
			return bellows.Errorf(bellows.Refused, "submit", s.App, "the variable %.40q belongs to no flag", v)
		}
	}
	words := len(strings.Join(s.Args, " "))
	all, err := json.Marshal(Start{Args: s.Args, Env: s.Env, Dir: s.Dir})
	switch {
	case err != nil:
		return bellows.Errorf(bellows.Bug, "submit", s.App, "%w", err)
	case words > wordsMost:
		return bellows.Errorf(bellows.Usage, "submit", s.App, "its command has %d bytes; at most %d", words, wordsMost).Hinted("name a folder or a quoted glob instead of many files")
	case len(all) > commandMost:
		return bellows.Errorf(bellows.Usage, "submit", s.App, "its command has %d bytes, and %d with its BELLOWS_ variables and its folder; at most %d", words, len(all), commandMost).
			Hinted("unset the variables that it does not need")
	}
	return nil
}

// WithoutToken returns the submission without the token of the cluster: neither --token nor BELLOWS_TOKEN leaves the process that was given it.
func (s Submission) WithoutToken() Submission {
	var args []string
	for i := 0; i < len(s.Args); i++ {
		switch w := s.Args[i]; {
		case w == "--":
			args = append(args, s.Args[i:]...)
			i = len(s.Args)
		case w == "--token":
			i++ // its value
		case !strings.HasPrefix(w, "--token="):
			args = append(args, w)
		}
	}
	s.Args = args
	s.Env = slices.DeleteFunc(slices.Clone(s.Env), IsToken)
	return s
}

// IsToken reports whether a variable of an environment, NAME=VALUE, is the token of a cluster.
func IsToken(variable string) bool { return strings.HasPrefix(variable, "BELLOWS_TOKEN=") }

// Program identifies the program that a user runs.
type Program struct {
	Name        string   `json:"name"`
	Fingerprint string   `json:"fingerprint"` // of the executable's bytes
	Platform    string   `json:"platform"`    // as linux/amd64
	Apps        []string `json:"apps"`
}

// Path returns the executable of this process. On Linux it is the file that runs, even if another has its name since,
// or none.
func Path() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", bellows.Errorf(bellows.IO, "find", "this program", "%w", err)
	}
	return path, nil
}

// ThisProgram looks at the program that runs.
func ThisProgram(name string, apps []string) (Program, error) {
	p := Program{Name: name, Platform: runtime.GOOS + "/" + runtime.GOARCH, Apps: apps}
	path, err := Path()
	if err != nil {
		return p, err
	}
	file, err := os.Open(path)
	if err != nil {
		return p, bellows.Errorf(bellows.IO, "read", "this program", "%w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return p, bellows.Errorf(bellows.IO, "read", "this program", "%w", err)
	}
	p.Fingerprint = hex.EncodeToString(sum.Sum(nil))[:16]
	return p, nil
}

// Takes refuses a job of another program: by name, where the cluster's has no such application, else by fingerprint.
func (p Program) Takes(s *Submission) error {
	own := s.Program
	switch {
	case own.Fingerprint == p.Fingerprint:
		return nil
	case !slices.Contains(p.Apps, s.App):
		return bellows.Errorf(bellows.Refused, "submit", s.App, "the cluster runs %s (%s), which has %s and not %s of %s (%s)",
			p.Name, p.Fingerprint, strings.Join(p.Apps, ", "), s.App, own.Name, own.Fingerprint).
			Hinted(fmt.Sprintf("`%s down` and `%[1]s up` with that program", own.Name))
	}
	return bellows.Errorf(bellows.Refused, "submit", s.App, "the cluster runs another build of %s (%s) than this one (%s)", p.Name, p.Fingerprint, own.Fingerprint).
		Hinted(fmt.Sprintf("`%s down` and `%[1]s up` start it with this one", own.Name))
}

// Admits refuses an agent of another program. One for another kind of machine has other bytes: the jobs that it takes part in compare what they made.
func (p Program) Admits(o Program) error {
	if o.Fingerprint == p.Fingerprint || o.Platform != p.Platform && o.Name == p.Name {
		return nil
	}
	return bellows.Errorf(bellows.Refused, "join", "the cluster", "it runs %s (%s), and this is %s (%s)", p.Name, p.Fingerprint, o.Name, o.Fingerprint).
		Hinted("join with the same program")
}

// Scale is how many nodes there are to be; nil: as many as there are.
type Scale struct {
	Workers *int `json:"workers,omitempty"`
	Servers *int `json:"servers,omitempty"`
	Job     int  `json:"job,omitempty"` // that is meant; 0: that which runs, if one does
}

// Drain is a node that is to leave.
type Drain struct {
	Node         string `json:"node"`
	NoticeMillis int64  `json:"notice_millis"`
}

// Done is what was changed, in sentences.
type Done struct {
	Sentences []string `json:"sentences"`
	Workers   int      `json:"workers"`
	Servers   int      `json:"servers"`
}

// Frame is a piece of what a job has written, or its end.
type Frame struct {
	Out  []byte `json:"out,omitempty"`
	Err  []byte `json:"err,omitempty"`
	Exit *int   `json:"exit,omitempty"`
	// Again reports that other followers need the place: the reader connects again later, and continues after what it has read.
	Again bool `json:"again,omitempty"`
}

// fault is an error as it travels.
type fault struct {
	Code    int    `json:"exit_code"`
	Op      string `json:"op"`
	Subject string `json:"subject"`
	Why     string `json:"why"`
	Hint    string `json:"hint"`
}
