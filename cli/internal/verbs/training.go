package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/api"
	"bellows/app"
	"bellows/cli/internal/clusterverbs"
	"bellows/cli/internal/line"
	"bellows/cli/internal/processes"
	"bellows/cli/internal/screen"
	"bellows/cli/internal/testhook"
	"bellows/cli/internal/timing"
	"bellows/cluster"
	"bellows/cluster/lead"
	"bellows/cluster/recovery"
	"bellows/core/tally"
	"bellows/core/visits"
	"bellows/data"
	"bellows/figures"
	"bellows/node"
	"bellows/node/launch"
	"bellows/node/machine"
	"bellows/node/memory"
	"bellows/policy/advise"
	"bellows/run"
	"bellows/run/board"
	"bellows/run/event"
	"bellows/train"
)

// training is one training command, from its order to its last line. It goes through these states, each of which fills
// in the fields of its name below: ordered (the flags make sense), read (the data are there), made (the application has
// made a job of them), claimed (the run's folder is held). Then the job runs and is concluded.
//
// Invariants, and what holds them (scripts are those of cmd/bellows):
//   - Nothing is written before the job has started: an error in the command or in the data, or a process that cannot be
//     started, leaves no folder, and an existing folder as it was (errors.txtar, folders.txtar).
//   - The same command resumes where this one stopped: the image is stored before the model of an interrupted run, and dropped
//     only after a finished one's is whole on the disk (resume.txtar; conclude).
//   - Once the job has begun, its last event says how it ended (finished, interrupted, lost or failed), unless its model cannot
//     be saved; the last JSON line is the result or the error (resume.txtar, status.txtar).
//   - A result that the audit contradicts is shown, and ends the command with an error (TestTheAuditOfARun).
//
// The goroutine of the command owns it. While the job runs, epochs and notices come from a goroutine of the node, which
// touches only journal and epochs; observers call look, which has its own lock. A child process has no training: it
// reads and makes the same job and runs its part (runChild), and node 0's training reports it.
type training struct {
	*screen.Console
	*order
	began  time.Time
	stages *timing.Stages
	// Read.
	inputs inputs
	// Made.
	made     *app.Run
	prepared time.Duration   // what reading and making took
	counted  *timing.Driver  // of the job
	memory   memory.Estimate // what the run needs
	// Claimed.
	folder  *run.Folder
	saved   train.Saved  // the state from which the job resumes; nil: it starts over
	advice  advise.State // what the job remembers about shapes
	look    node.Watch   // at the job while it runs
	journal *journal
	epochs  *epochs
	// Run.
	unwritten error // why the folder could not be begun
	recovery.Recovery
	unstored error // why what was trained is in another folder; nil: it is in its own
	// At any time.
	warnings []string
}

// train carries out one training command: it reads, trains, saves and reports.
func (c *Tool) train(ctx context.Context, a app.Application, files []string, opt *trainOptions) error {
	memory.LimitGrowth()
	if opt.cluster.Child {
		return c.runChild(ctx, a, files, opt)
	}
	if remote := opt.cluster.At != "" || clusterverbs.Detached(ctx); remote || lead.Leads() {
		if opt.cv != "" {
			return line.BadFlag("cv", opt.cv, "folds are trained one after the other in one process, and not in a cluster; leave one of them out")
		}
		if !lead.Leads() {
			return c.submit(ctx, a, files, opt)
		}
		l, err := lead.Take(ctx, c.In, c.Talk)
		if err != nil {
			return err
		}
		defer l.Close()
		c.Remote = (*screen.Terminal)(l.Terminal)
		if recovery.Finished(l) {
			return c.finish(l)
		}
		var end context.CancelFunc
		ctx, end = l.Context(ctx)
		defer end()
		opt.cluster.Lead = l
	}
	if opt.cluster.At == "" && opt.cluster.Lead == nil && line.Given(c.Args, "token") {
		return bellows.Errorf(bellows.Usage, "set", "--token", "it is that of a cluster, and the command runs here").Hinted("add --cluster HOST:PORT, or leave --token out")
	}
	if opt.cv != "" {
		return c.validate(ctx, a, files, opt)
	}
	t := &training{Console: c.Console, began: time.Now(), stages: timing.New(ctx, c.Console, timing.Starting, timing.Reading, timing.Preparing, timing.Learning, timing.Scoring, timing.Saving)}
	defer t.stages.Live.Stop()
	var err error
	if t.order, err = newOrder(a, files, opt); err != nil {
		return err
	}
	t.warn()
	table := screen.NewEpochTable(c.Console, t.stages.Live, t.about, c.Width())
	defer table.Close()
	defer t.close()
	table.Begin(t.about.Title + " · " + t.data() + ": ")
	if err := t.make(ctx, c.In); err != nil {
		return err
	}
	if err := t.checkMemory(); err != nil {
		return err
	}
	t.tellCache()
	if t.made.Metrics != nil {
		t.about.Metrics = t.made.Metrics
		table.Measure(t.about)
	}
	if err := t.claim(ctx, table); err != nil {
		return err
	}
	t.examine()
	t.remark()
	return t.explain(ctx, t.run(ctx))
}

// make reads the data, and has the application cut them into a job: for each life of the run anew.
func (t *training) make(ctx context.Context, in io.Reader) error {
	began := time.Now()
	t.stages.Enter(timing.Reading)
	err := t.inputs.read(ctx, t.order, in, t.stages.Meter)
	if err != nil {
		return err
	}
	t.stages.Enter(timing.Preparing)
	if t.made, err = t.job(&t.inputs, t.stages.Meter); err != nil {
		return interruptedWhile(ctx, "preparing", t.settingsHint(err))
	}
	t.inputs.detected(t.made.Numbers)
	t.counted = timing.NewDriver(t.made.Job.Driver, t.stages.Meter)
	t.made.Job.Driver = t.counted
	testhook.Install(t.made)
	t.prepared = time.Since(began)
	return nil
}

// submit hands the command to a cluster, once its flags make sense here.
func (c *Tool) submit(ctx context.Context, a app.Application, files []string, opt *trainOptions) error {
	if opt.cluster.At == "" { // of submit
		opt.cluster.At = cluster.Local
	}
	if _, err := newOrder(a, files, opt); err != nil {
		return err
	}
	opt.cluster.State = opt.state
	return clusterverbs.Submit(ctx, c.Console, c.names(), opt.cluster.Where, a.Describe().Name, run.Prefix(a.Describe().Name, files), opt.out)
}

// checkMemory refuses a run that this machine has not got the memory for. The memory of the nodes of a cluster is unknown here.
func (t *training) checkMemory() (err error) {
	if job := &t.made.Job; t.opt.cluster.Lead == nil {
		needs := memory.Job{Tables: job.Tables, Data: t.inputs.set, LaidOut: job.Prepare != nil && !t.made.Copied, Rows: t.made.Items, Items: job.Items, Splits: job.Splits, Kept: t.made.Settings["early_stop"] == "true", Processes: len(t.members) - 1}
		t.memory, err = needs.Check(t.about.Name, t.opt.ignoreMemory)
	}
	return err
}

// slotsMany is how many compute slots a processor may have before something is said.
const slotsMany = 4

// warn says what of the flags is allowed and hardly meant.
func (t *training) warn() {
	if cpus := runtime.GOMAXPROCS(0); t.opt.cluster.Lead == nil && t.slots > slotsMany*cpus {
		t.Talk("--workers %d on %s: they share processors, which is slower than --workers auto, here %d", t.slots, figures.Plural(cpus, "processor"), cpus)
	}
}

// tellCache says why an input cannot be kept for the next run.
func (t *training) tellCache() {
	for _, set := range []*data.Set{t.inputs.set, t.inputs.test} {
		if set != nil && set.Detected.CacheUnusable() {
			t.Talk("what was read is not kept for the next run: %s; give --cache a folder that can be written, or off", set.Detected.CacheProblem)
			return
		}
	}
}

// settingsHint says where an error about settings finds them listed.
func (t *training) settingsHint(err error) error {
	var typed *bellows.Error
	if errors.As(err, &typed) && typed.Kind == bellows.Config && typed.Op == "set" && typed.Subject == t.about.Name && typed.Hint == "" {
		typed.Hint = fmt.Sprintf("`%s train %s --help` lists the settings", t.Program(), t.about.Name)
	}
	return err
}

// claim takes the run's folder and completes the headline.
func (t *training) claim(ctx context.Context, table *screen.EpochTable) error {
	var err error
	request := run.Request{
		Config: t.config(ctx, t.made.Settings), Out: t.opt.out, Fresh: t.opt.fresh, Versions: machine.CurrentBuild().Manifest(),
		Tables: t.made.Job.Tables, Checkpoint: t.opt.checkpoint,
	}
	t.Lead = t.opt.cluster.Lead
	if t.folder, err = t.Claim(ctx, request, t.Talk); err == nil {
		err = t.CheckRunExists(t.folder, t.opt.checkpoint != run.NoCheckpoints)
	}
	if err == nil && t.RefuseOtherRun(t.folder) {
		err = t.refit(ctx)
		t.place(t.made.Job.Tables)
	}
	if err != nil {
		return err
	}
	told, err := t.ReadEarlierLog(t.folder)
	if err != nil {
		return err
	}
	t.saved, t.advice = t.folder.GoOn(context.Background()), t.folder.Log.Advice()
	whole, err := filepath.Abs(t.folder.Dir)
	if err != nil {
		return bellows.Errorf(bellows.IO, "find", t.folder.Dir, "%w", err)
	}
	before, members := t.folder.Before.Seconds, processes.Count(t.members)
	if l := t.opt.cluster.Lead; l != nil {
		if err := l.Began(t.folder.Dir); err != nil {
			return err
		}
	}
	board := board.New(api.Status{Job: filepath.Base(whole), App: t.about.Name, PID: os.Getpid(),
		Model: t.folder.Dir, Started: t.began}, before, t.lookAt)
	board.Measured = t.figures
	recovery.ShowCheckpoint(board, t.folder)
	t.journal = &journal{console: t.Console, table: table, log: t.folder.Log, board: board, names: t.names()}
	t.folder.Output.Name = t.names().Text
	t.epochs = t.life()
	if t.folder.Live {
		for _, line := range told.Unseen {
			_ = t.Object(line) // the command ends with what could not be written
		}
		t.epochs.goOn(told.Epoch)
		return t.journal.begin(t.folder)
	}
	detected := t.inputs.set.Detected
	table.Headline(detected.String()+" · "+t.made.Headline, members.Place()+", "+figures.Spread(t.made.Job.Splits, app.SlotsEnough(t.made.Job.Splits, members.Workers))+node.Surplus(t.members, t.made.Job.Splits))
	for _, sentence := range t.folder.Left {
		t.Talk("%s", sentence)
	}
	if t.folder.Found != "" { // its log is lost with its folder
		t.begun(detected, members)
	}
	if t.folder.Resumed {
		t.takeUp()
		stated := event.OfJob(&t.made.Job, t.counted.Driver, t.saved)
		if t.folder.Found != "" {
			stated = event.Unstated(&t.made.Job, "what was visited before the checkpoint was in the log of the run's folder, which is gone")
		}
		t.journal.announce(stated)
		return nil
	}
	t.begun(detected, members)
	t.journal.announce(event.OfJob(&t.made.Job, t.counted.Driver, nil))
	return nil
}

// begun tells what the run begins with.
func (t *training) begun(detected data.Detection, members processes.Counts) {
	t.journal.announce(event.Event{Kind: event.Started, Model: t.folder.Dir, Sentence: fmt.Sprintf("%s: %s", t.data(), detected), Start: &event.Start{
		App: t.about.Name, Data: t.files, Rows: t.inputs.rows, Items: t.made.Items, Settings: t.made.Settings,
		LoadSeconds: t.inputs.seconds, Workers: members.Workers, WorkersMost: app.SlotsEnough(t.made.Job.Splits, members.Workers), Baseline: t.baseline(), Columns: t.about.Metrics,
	}})
}

// life returns what tells of epochs in a life of the run.
func (t *training) life() *epochs {
	return &epochs{training: t, members: processes.Count(t.members).String(), before: t.folder.Before.Seconds, resumed: t.saved != nil, wait: math.NaN()}
}

// passed tells of damaged checkpoints.
func (t *training) passed() {
	for _, p := range t.folder.Passed {
		t.journal.announce(event.Event{Kind: event.Passed, Model: t.folder.Dir, Sentence: fmt.Sprintf("%v; this checkpoint is not used, but the one before it", p.Why)})
	}
}

// baseline returns what the first test metric is compared with, nil where the application has nothing.
func (t *training) baseline() *event.Baseline {
	b := t.made.Baseline
	at := slices.IndexFunc(t.about.Metrics, func(name string) bool { return strings.HasPrefix(name, "test_") })
	if b == nil || at < 0 {
		return nil
	}
	return &event.Baseline{Metric: t.about.Metrics[at], Name: b.Name, Value: b.Value}
}

func (t *training) resumedSentence() string {
	if t.saved == nil {
		return "an unfinished run of this command is in " + t.folder.Dir + ", but it left nothing to resume from; it starts over"
	}
	if t.folder.Found != "" {
		return fmt.Sprintf("resuming from the checkpoint at %s, whose run folder is missing, after %s s of training; --fresh would start over", run.Shown(t.folder.Found), figures.Duration(t.folder.Before.Seconds))
	}
	return fmt.Sprintf("resuming the unfinished run in %s after %s s of training; --fresh would start over", t.folder.Dir, figures.Duration(t.folder.Before.Seconds))
}

// run trains, saves and reports, while others may look. A job that failed may leave its state all the same: then the model is saved
// before the failure is returned.
func (t *training) run(ctx context.Context) error {
	board := t.journal.board
	post, err := board.Post(t.Name, t.opt.state, t.opt.metrics, t.Talk)
	if err != nil {
		return err
	}
	defer post.Close()
	defer board.Close()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go t.NotifyManager(ctx, board)
	res, err := t.drive(ctx, giveUp)
	for t.rollBack(ctx, res, err) {
		res, err = t.drive(ctx, giveUp)
	}
	t.journal.table.End()
	if t.unwritten != nil {
		return t.unwritten
	}
	end := api.Ended
	switch {
	case err != nil && res == nil && len(t.Recoveries) > 0 && ctx.Err() != nil:
		end, err = api.Interrupted, t.interrupted("while its processes were started again;")
	case err != nil:
		end = api.Failed
		t.failed(err, res)
		err = t.goOn(err, res)
	case res.Image != nil:
		end = api.Interrupted
	}
	moved := t.measured(end)
	if res != nil && res.Figures != nil {
		if err := t.folder.KeepFigures(t.named(res.Figures)); err != nil {
			t.Talk("%v", err)
		}
	}
	if err != nil && (res == nil || res.Tables == nil) {
		return err
	}
	if err := t.conclude(res, moved); err != nil {
		return err
	}
	return err
}

// drive runs the job, until its end or until its folder cannot be written.
func (t *training) drive(ctx context.Context, giveUp context.CancelCauseFunc) (*node.Result, error) {
	opt := node.Options{Era: t.folder.Life, Slots: t.slots, Wire: t.opt.cluster.Format, Watch: &t.look, OnEpoch: t.epochs.add, OnStop: t.epochs.stop, Resume: t.saved,
		OnStart: func(nodes []api.Node) { t.started(nodes, giveUp) },
		OnChange: func(c node.Change) {
			t.journal.announce(event.FromChange(c))
			if c.Advice != nil { // of a life that a rollback ends
				t.advice = *c.Advice
			}
			if l := t.opt.cluster.Lead; l != nil && c.Kind == node.Gone {
				l.Missing(c.Node)
			}
		},
		OnVisits: func(b visits.Batch) { t.journal.announce(event.OfVisits(b)) }}
	if len(t.members) > 1 { // one process waits for itself alone, and the live line shows how far it is
		opt.Notice = func(s string) { t.journal.announce(event.Event{Kind: event.Waiting, Sentence: s}) }
	}
	t.saved = nil
	if err := t.keep(&opt); err != nil {
		return nil, err
	}
	if len(t.members) > 1 {
		return t.lead(ctx, opt)
	}
	res, err := node.Train(ctx, t.made.Job, opt)
	if errors.Is(err, context.Canceled) { // of the job's Prepare: a job that has begun ends regularly
		err = interruptedWhile(ctx, "preparing", err)
	}
	return res, err
}

// started tells that the first tasks have left: it begins the run's folder, and records the nodes of a job in many processes.
func (t *training) started(nodes []api.Node, giveUp context.CancelCauseFunc) {
	t.stages.Enter(timing.Learning)
	t.epochs.follow()
	if t.folder.Live {
		t.takeUp()
	}
	t.Resumed()
	if t.unwritten = t.journal.begin(t.folder); t.unwritten != nil {
		giveUp(t.unwritten)
	}
	if len(nodes) < 2 || t.folder.Live {
		return
	}
	processes := map[string]int{}
	for _, n := range nodes {
		processes[n.ID] = n.PID
	}
	t.journal.announce(event.Event{Kind: event.Joined, Processes: processes, Sentence: figures.Plural(len(nodes), "node") + " have joined" + node.Surplus(t.members, t.made.Job.Splits)})
}

// failed records why the job ended before its time.
func (t *training) failed(err error, res *node.Result) {
	kind := event.Failed
	switch line.KindOf(err) {
	case bellows.Lost:
		kind = event.Lost
	case bellows.Interrupted: // before it had begun
		return
	}
	sentence := launch.Sentence(err)
	if kind == event.Lost && res != nil {
		undone := event.Undone(res.Since, t.folder.Saved != nil)
		sentence += "; " + undone
		t.Talk("%s", undone)
	}
	e := event.Event{Kind: kind, Model: t.folder.Dir, Sentence: sentence}
	if kind == event.Lost && res != nil {
		e.Units = res.Since.Out
	}
	t.journal.announce(e)
}

// measured stores the figures of the run, whatever its end was, and says what went between nodes.
func (t *training) measured(end api.State) traffic {
	t.journal.board.End(end)
	s, err := t.journal.board.Status(context.Background())
	if err == nil {
		err = t.folder.Measured(s)
	}
	if err != nil {
		t.Talk("%v", err)
	}
	return traffic{Pushed: s.Bytes[tally.Pushes.String()].Bytes,
		Pulled: s.Bytes[tally.Rows.String()].Bytes + s.Bytes[tally.Leases.String()].Bytes}
}

// explain adds to an error what the run's folder still has. An interrupt of a job that has not started returns that,
// and not what it waited for.
func (t *training) explain(ctx context.Context, err error) error {
	if err = t.names().Cause(err); err != nil && !t.folder.Begun() {
		err = interruptedWhile(ctx, "the job was started", err)
	}
	var typed *bellows.Error
	if ctx.Err() == nil && errors.As(err, &typed) && typed.Kind == bellows.Bug && typed.Hint == "" && t.folder.Begun() {
		typed.Hint = "what happened until then is in " + filepath.Join(t.folder.Dir, event.File)
	}
	return err
}

// close gives back what the command holds.
func (t *training) close() {
	failed := t.inputs.close()
	if t.folder != nil {
		failed = errors.Join(t.folder.Close(), failed)
	}
	if failed != nil {
		t.Talk("%v", failed)
	}
}
