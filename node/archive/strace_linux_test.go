//go:build soak

package archive_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"bellows/internal/require"
	"bellows/port/blob/file"
)

var livesFlag = flag.Bool("archive.lives", false,
	"let every call of two attempts fail in a separate process, in every way; some minutes")

// writesIn is the variable that makes a process of this program write cuts into a folder, and nothing else.
const writesIn = "BELLOWS_TEST_WRITES_CUTS_IN"

// The thread that begins a program is kept by the goroutine that does, so that all its calls are those of one thread.
func init() {
	if os.Getenv(writesIn) != "" {
		runtime.LockOSThread()
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	if folder := os.Getenv(writesIn); folder != "" {
		os.Exit(writeTraced(folder))
	}
	os.Exit(m.Run())
}

// tracedCuts returns the cuts to write while the process is traced, from one on: the third of a job, which takes
// unchanged partitions from the first, and removes that one; or all of two attempts.
func tracedCuts() (cuts []*cut, from int) {
	if *livesFlag {
		return append(life(1, 1, 2, 3, 4), life(2, 1, 2)...), 0
	}
	return life(1, 1, 2, 3), 2
}

// before makes a folder in which the cuts before those are. Its base, which is given, has nothing else.
func before(t *testing.T, base string) (folder string) {
	t.Helper()
	cuts, from := tracedCuts()
	folder = filepath.Join(base, "cuts")
	err := writeAll(t.Context(), file.InFolder(folder), cuts[:from], 0, func(int) {})
	require.NoError(t, err)
	return folder
}

// callMark is how a trace shows where calls of the port begin and end: by a look for a file that is not there.
const callMark = "/no/such/folder/"

// writeTraced returns the process that is looked at: it writes cuts, whatever goes wrong, and says on standard output
// which were published.
func writeTraced(folder string) int {
	mark := func(text string) { _, _ = os.Readlink(callMark + text) }
	s := &faulty{Store: file.InFolder(folder), at: -1, begins: func(n int, op string) func() {
		mark(fmt.Sprintf("%d/%s", n, op))
		return func() { mark("end") }
	}}
	cuts, from := tracedCuts()
	err := writeAll(context.Background(), s, cuts, from, func(i int) { fmt.Println(i) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// sysCall is a system call in a trace.
type sysCall struct {
	name   string
	nth    int // of its name in the process, from 1
	call   int // of the port that it belongs to; -1: none
	op     string
	ours   bool // it is of the folder, or the one above
	struck bool // the trace says that it was made to go wrong
	bytes  int  // as it returned
	line   string
}

// traced is what became of a process that wrote cuts.
type traced struct {
	calls     []sysCall
	published int // the last cut; -1: none
	died      bool
}

var (
	sysForm  = regexp.MustCompile(`^(\w+)\(.*\) += (-?\d+|\?)`)
	markForm = regexp.MustCompile(`^readlink(?:at)?\(.*"` + callMark + `(?:(\d+)/(\w+)|end)"`)
)

// all are the system calls that can concern a file.
const all = "%file,%desc"

// trace runs the process under strace, which looks at some system calls and is given arguments more.
func trace(t *testing.T, folder, which string, more ...string) traced {
	t.Helper()
	to := filepath.Join(t.TempDir(), "trace")
	args := append([]string{"-ff", "-y", "-q", "-s", "300", "-e", "trace=" + which, "-e", "signal=none", "-o", to},
		more...)
	cmd := exec.CommandContext(t.Context(), "strace",
		append(args, os.Args[0], "-archive.lives="+strconv.FormatBool(*livesFlag))...)
	cmd.Env = append(os.Environ(), writesIn+"="+folder, "GOMAXPROCS=1", "GOGC=off")
	var says bytes.Buffer
	cmd.Stderr = &says
	out, err := cmd.Output()
	ended := (*exec.ExitError)(nil)
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("strace is not there, by which this test sees what the port asks of the system: install the " +
			"Debian package strace, or let root run ./dev test")
	}
	files, globbed := filepath.Glob(to + ".*")
	if globbed != nil || len(files) == 0 {
		t.Fatalf("strace has traced nothing (%v): %s\nwhere it may not, let it: kernel.yama.ptrace_scope at most "+
			"1, and in a container the capability SYS_PTRACE", err, says.String())
	}
	_, from := tracedCuts()
	r := traced{published: from - 1}
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	// strace ends as the process did, by its signal too.
	if r.died = err != nil && ended.ExitCode() == -1; err != nil && !r.died {
		t.Fatalf("%v: %s", err, says.String())
	}
	for line := range bytes.Lines(out) {
		if r.published, err = strconv.Atoi(strings.TrimSpace(string(line))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range files {
		list := readTrace(t, name, filepath.Dir(folder))
		marked := false
		for i := range list {
			marked = marked || list[i].call >= 0
		}
		for i := range list {
			if !marked && list[i].ours {
				t.Errorf("another thread does, unseen by the port: %s", list[i].line)
			}
		}
		if marked && r.calls != nil {
			t.Error("two threads write")
		}
		if marked {
			r.calls = list
		}
	}
	return r
}

// readTrace returns a thread's.
func readTrace(t *testing.T, name, base string) (list []sysCall) {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	nth := map[string]int{}
	call, op, next := -1, "", 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		m := sysForm.FindStringSubmatch(line)
		if m == nil {
			continue // a signal, or the thread's end
		}
		nth[m[1]]++
		if mark := markForm.FindStringSubmatch(line); mark != nil {
			if call, op = -1, ""; mark[2] != "" {
				if call, op = next, mark[2]; mark[1] != strconv.Itoa(next) {
					t.Fatalf("call %s of the port follows %d", mark[1], next-1)
				}
				next++
			}
			continue
		}
		n, _ := strconv.Atoi(m[2])
		list = append(list, sysCall{name: m[1], nth: nth[m[1]], call: call, op: op, ours: strings.Contains(line, base),
			struck: strings.HasSuffix(line, "(INJECTED)") || strings.HasSuffix(line, "(DELAYED)") || m[2] == "?",
			bytes:  n, line: line})
	}
	require.NoError(t, lines.Err())
	return list
}

// wholeOps are the system calls of each call of the port that change something, or make it durable, in their order,
// besides those that only read: a file is synced before it gets its final name, and its folder after that.
var wholeOps = map[string]*regexp.Regexp{
	"create":  regexp.MustCompile(`^(mkdirat fsync )*create $`),
	"write":   regexp.MustCompile(`^write $`),
	"publish": regexp.MustCompile(`^fsync renameat fsync $`),
	"delete":  regexp.MustCompile(`^unlinkat fsync $`),
	"open":    regexp.MustCompile(`^$`),
	"read":    regexp.MustCompile(`^$`),
	"leave":   regexp.MustCompile(`^$`),
	"close":   regexp.MustCompile(`^$`),
	"list":    regexp.MustCompile(`^$`),
}

// lookers are the system calls that change nothing.
var lookers = map[string]bool{"openat": true, "newfstatat": true, "statx": true, "fstat": true, "fcntl": true,
	"epoll_ctl": true, "getdents64": true, "read": true, "pread64": true, "close": true, "lseek": true}

// TestThePortSeesEveryCall looks by strace at a process that writes cuts on one thread: whatever it asks the system to
// do in their folder belongs to a numbered call of the port, and changes what that call is for, in the order that keeps
// it.
func TestThePortSeesEveryCall(t *testing.T) {
	t.Parallel()
	folder := before(t, t.TempDir())
	r := trace(t, folder, all)
	did, ops, ofCall := map[int]string{}, map[int]string{}, map[string]int{}
	for _, c := range r.calls {
		if !c.ours {
			continue
		}
		if c.call < 0 {
			t.Errorf("of no call of the port: %s", c.line)
			continue
		}
		ops[c.call] = c.op
		name := c.name
		if name == "openat" && strings.Contains(c.line, "O_CREAT") {
			name = "create"
		}
		if !lookers[name] {
			did[c.call] += name + " "
		}
		ofCall[c.op]++
	}
	for call, op := range ops {
		if want := wholeOps[op]; want == nil || !want.MatchString(did[call]) {
			t.Errorf("call %d, %s, does %s", call, op, did[call])
		}
	}
	for op := range wholeOps {
		if ofCall[op] == 0 && op != "close" { // of a writer that has published it does nothing
			t.Errorf("there is no %s", op)
		}
	}
	if cuts, _ := tracedCuts(); r.published != len(cuts)-1 || r.died {
		t.Errorf("cut %d is the last", r.published)
	} else {
		comesBack(t, "undisturbed", file.InFolder(folder), cuts, r.published)
	}
	t.Logf("%d calls of the port ask the system for something, by what for so often: %v", len(ops), ofCall)
}

// strike is what strace does to a system call.
type strike struct {
	name string
	how  func(c *sysCall) string // of strace's inject; "": it does not concern such a call
	dies bool
	all  bool // of the cuts are there in the end
}

// changers returns how to strike a system call that changes something, or makes it last: between others that change
// nothing a process leaves the same behind.
func changers(how string) func(c *sysCall) string {
	return func(c *sysCall) string {
		if lookers[c.name] && !strings.Contains(c.line, "O_CREAT") {
			return ""
		}
		return how
	}
}

var strikes = []strike{
	{name: "killed", how: changers("signal=KILL"), dies: true},
	{name: "broken", how: func(c *sysCall) string {
		switch c.name {
		case "fcntl", "epoll_ctl": // by which the language's library asks of what kind a file is
			return ""
		case "newfstatat", "fstat", "close":
			if c.op != "publish" && !*livesFlag {
				return ""
			}
		}
		return "error=EIO"
	}},
	{name: "full", how: changers("error=ENOSPC")},
	{name: "stalled", how: changers("delay_enter=20000"), all: true}, // microseconds
	// A write that reports half and wrote nothing: a disk that lies. An honest short write is completed by the
	// language's library.
	{name: "short", how: func(c *sysCall) string {
		if c.name != "write" {
			return ""
		}
		return fmt.Sprintf("retval=%d", c.bytes/2)
	}},
}

// TestKilledAtEverySystemCall lets each system call of a process that writes cuts fail, in each way that concerns it,
// in a process of its own. The rest is whole, with equal bits, and a job can resume from it. With -archive.lives these
// are all calls of two attempts.
func TestKilledAtEverySystemCall(t *testing.T) {
	t.Parallel()
	begin := before(t, t.TempDir())
	plain := trace(t, copied(t, begin), all)
	for _, s := range strikes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			for i := range plain.calls {
				if c := &plain.calls[i]; c.ours && s.how(c) != "" {
					s.strikeCall(t, begin, c)
					n++
				}
			}
			if n == 0 {
				t.Error("nothing was struck")
			}
			t.Logf("%d processes", n)
		})
	}
}

// copied returns a copy of a folder, in a base of its own.
func copied(t *testing.T, folder string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "cuts")
	if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
		return to
	}
	require.NoError(t, os.CopyFS(to, os.DirFS(folder)))
	return to
}

// triesMost is how often a call is struck until it is the one that was meant: what a process does before it writes need
// not be the same each time.
const triesMost = 10

// strikeCall strikes one call, in a copy of the folder with which all begin.
func (s *strike) strikeCall(t *testing.T, begin string, c *sysCall) {
	t.Helper()
	what := fmt.Sprintf("%s at %s %d of call %d, %s", s.name, c.name, c.nth, c.call, c.op)
	for range triesMost {
		folder := copied(t, begin)
		r := trace(t, folder, "readlinkat,"+c.name, "-e", fmt.Sprintf("inject=%s:%s:when=%d", c.name, s.how(c), c.nth))
		if !s.struck(&r, c) {
			continue
		}
		if r.died != s.dies {
			t.Fatalf("%s: it died: %v", what, r.died)
		}
		cuts, _ := tracedCuts()
		if s.all && r.published != len(cuts)-1 {
			t.Fatalf("%s: number %d is the last that was published", what, r.published)
		}
		comesBack(t, what, file.InFolder(folder), cuts, r.published)
		return
	}
	t.Fatalf("%s: in %d processes it was another call", what, triesMost)
}

// struck says whether the call that went wrong is the one that was meant.
func (s *strike) struck(r *traced, c *sysCall) bool {
	for i := range r.calls {
		if d := &r.calls[i]; d.struck {
			return d.name == c.name && d.call == c.call && d.ours
		}
	}
	return false
}
