// Package train is what applications are written against: Job, Driver, Executor, and Task with its Pull, Push and Lease
// calls, and what runs tasks.
//
// An application declares its tables, the number of splits and the items of every split in every
// clock, and gives a Driver and an Executor (Litz §3). Its duties, in order:
//
//  1. Fill in a Job. Splits and items never change while the job lives.
//  2. Driver.DispatchInitialTasks dispatches the first tasks. A task is the next clock of one
//     split.
//  3. Executor.RunTask reads rows, computes, writes deltas, and signals a result.
//  4. Driver.HandleTaskCompletion gets each committed result, dispatches more tasks, reports epochs,
//     keeps the best state, and decides when the job is finished. If Job.Units divides clocks, it is
//     called several times for one clock, the last time with Completion.Last set: count that one.
//
// The Bösen form is built on the same parts: a Worker function per split that loops over PullRow,
// PushRow and Clock (Loop).
//
// There is one set of verbs, those of Task. The papers call them:
//
//	here                 Bösen (Table 2)   Litz (Table 1)
//	PullRow, PullKey     GetRow            PSGet
//	PullRow(…)[column]   Get
//	PushRow, PushKey     IncRow            PSUpdate
//	PushValue            Inc
//	Pull, PullRange, PullKeys, Push, PushRange, PushKeys: the bulk forms
//	Worker.Clock         Clock
//	SignalTaskCompletion                   SignalTaskCompletion
//	Dispatcher.DispatchTask                DispatchTask
//
// Reads block until the gate of their table admits them; a task that blocks gives its compute slot
// to another (Litz §4, co-operative multitasking). A call that cannot be answered because the job
// has ended does not return: the runtime unwinds the task.
//
// The package does not guess. An executor's lasting state is rows of a table, which SaveExecutors
// makes from the state that a Stateful executor saves. Everything else in an executor is scratch that may vanish
// between two tasks, unless Job.Stays keeps the splits where they are. Random numbers must be
// functions of (seed, split, clock, item).
package train
