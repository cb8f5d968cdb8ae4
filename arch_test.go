// The house rules as a test. architecture says where each package lives; this file is that page as data.
//
// To add a package: enter it in rooms below, on the floor where its noun belongs. To let two rooms of one floor
// know each other: enter the edge in edges, with its reason. Everything else here should rarely change.
package bellows_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// module is the import path of the tree under test.
const module = "bellows"

// actors is the floor of the roles.
const actors = 3

// aside is the floor of programs that nothing imports: benchmarks, examples, measures of the tests.
const aside = 11

// Ceilings of one package.
const (
	codeMax     = 2500 // lines of code, without comments, blank lines, tests and generated files; offenders apart
	exportedMax = 90   // constants, variables, types and functions; methods not counted. wire needs them: a type for each kind of message and for what lists in them hold
	importsMax  = 13   // distinct packages of this module; assembly is free of it
	roleMax     = 20   // of an actor, which hands its messages to the packages of its sub-machines
	funcMax     = 100  // lines from "func" to the closing brace, tests included
)

// room is one package, or with a path that ends in "/..." every package below a folder. A package below a folder
// called internal lives in the room of the package around it, which alone can import it, and needs no entry.
type room struct {
	path  string
	floor int
	sees  int      // the highest floor it may import; below its own
	also  []string // packages it may import above sees
	tests []string // packages that its tests alone may import, whatever their floor
	fake  bool     // a fake, a conformance suite, or a shell that implementations share: may start goroutines and read the clock
	leaf  bool     // a real implementation: imported by assembly alone
	big   bool     // assembly: any number of internal imports
}

// rooms is the house from the ground up. Rooms that are not built yet are entered when they are.
var rooms = []room{
	// Floor 0, words: imports nothing of ours.
	{path: ".", floor: 0, sees: -1},
	{path: "vec", floor: 0, sees: -1},
	{path: "vec/roofline", floor: 0, sees: -1},
	{path: "random", floor: 0, sees: -1},
	{path: "chart", floor: 0, sees: -1},
	{path: "figures", floor: 0, sees: -1},
	{path: "progress", floor: 0, sees: -1},
	{path: "progress/progresstest", floor: 0, sees: -1, fake: true},
	{path: "internal/require", floor: 0, sees: -1, fake: true},
	{path: "internal/gojson", floor: 0, sees: -1},
	{path: "core/planted", floor: 0, sees: -1},
	{path: "core/lists", floor: 0, sees: -1},
	{path: "core/tally", floor: 0, sees: -1},
	{path: "link/traffic", floor: 0, sees: -1},
	{path: "link/padding", floor: 0, sees: -1},
	{path: "core/audit", floor: 0, sees: -1, also: []string{".", "vec"}},
	{path: "core/pending", floor: 0, sees: -1, also: []string{"."}},
	{path: "core/visits", floor: 0, sees: -1, also: []string{"."}},

	// Floor 1, ports: an interface, its fake, its conformance suite.
	{path: "link", floor: 1, sees: 0},
	{path: "link/wire", floor: 1, sees: 0},
	{path: "link/transport", floor: 1, sees: 0},
	{path: "link/transport/acceptor", floor: 1, sees: 0, also: []string{"link/transport"}, fake: true},
	{path: "link/transport/mem", floor: 1, sees: 0, also: []string{"link/transport", "link/transport/acceptor", "link/wire"}, fake: true},
	{path: "link/transport/transporttest", floor: 1, sees: 0, also: []string{"link/transport", "link/transport/acceptor", "link/wire"}, fake: true},
	{path: "port/blob", floor: 1, sees: 0},
	{path: "port/blob/mem", floor: 1, sees: 0, also: []string{"port/blob"}, fake: true},
	{path: "port/blob/blobtest", floor: 1, sees: 0, also: []string{"port/blob"}, fake: true},
	{path: "port/registry", floor: 1, sees: 0},
	{path: "port/registry/mem", floor: 1, sees: 0, also: []string{"port/registry"}, fake: true},
	{path: "port/registry/registrytest", floor: 1, sees: 0, also: []string{"port/registry"}, fake: true},

	// Floor 2, rules: pure decisions. Siblings only as listed in edges.
	{path: "core/keys", floor: 2, sees: 0},
	{path: "table", floor: 2, sees: 0},
	{path: "core/rule", floor: 2, sees: 0},
	{path: "core/rowstore", floor: 2, sees: 0},
	{path: "core/delta", floor: 2, sees: 0},
	{path: "core/gate", floor: 2, sees: 0},
	{path: "core/fence", floor: 2, sees: 0},
	{path: "core/prepare", floor: 2, sees: 0},
	{path: "core/laneend", floor: 2, sees: 0},
	{path: "core/route", floor: 2, sees: 0},
	{path: "core/lease", floor: 2, sees: 0},
	{path: "core/handoff", floor: 2, sees: 0},
	{path: "core/recordlog", floor: 2, sees: 0},
	{path: "core/agenda", floor: 2, sees: 0},
	{path: "core/cache", floor: 2, sees: 0},
	{path: "core/claim", floor: 2, sees: 0},
	{path: "core/jobend", floor: 2, sees: 0},
	{path: "core/flush", floor: 2, sees: 0},
	{path: "core/partition", floor: 2, sees: 0, tests: []string{"core/partition/partitiontest"}},
	{path: "core/lanestate", floor: 2, sees: 0},
	{path: "core/reads", floor: 2, sees: 0},
	{path: "core/waitlist", floor: 2, sees: 0},
	{path: "core/commits", floor: 2, sees: 0},
	{path: "core/migration", floor: 2, sees: 0},
	{path: "core/liveness", floor: 2, sees: 0},
	{path: "link/session", floor: 2, sees: 0},
	{path: "core", floor: 2, sees: 0},
	{path: "core/checkpoint", floor: 2, sees: 0},
	{path: "core/journal", floor: 2, sees: 0},
	{path: "core/join", floor: 2, sees: 0},
	{path: "core/heartbeat", floor: 2, sees: 0},
	{path: "core/membership", floor: 2, sees: 0},
	{path: "core/slots", floor: 2, sees: 0},
	{path: "core/takeover", floor: 2, sees: 0},
	{path: "policy/shape", floor: 2, sees: 0},
	{path: "policy/gauge", floor: 2, sees: 0, tests: []string{"policy/gauge/gaugetest", "policy/cost"}},
	{path: "policy/gauge/gaugetest", floor: 2, sees: 0, fake: true},
	{path: "policy/choose", floor: 2, sees: 0, tests: []string{"policy/gauge/gaugetest"}},
	{path: "policy/choose/bound", floor: 2, sees: 0, tests: []string{"policy/gauge/gaugetest"}},
	{path: "policy/cost", floor: 2, sees: 0, tests: []string{"policy/gauge/gaugetest"}},
	{path: "policy/advise", floor: 2, sees: 0, tests: []string{"policy/gauge/gaugetest"}},
	{path: "policy/plan", floor: 2, sees: 0},
	{path: "policy/reshape", floor: 2, sees: 0},
	{path: "data/decimal", floor: 2, sees: 0},
	{path: "core/validate", floor: 2, sees: 0, tests: []string{"core/server", "core/client", "core/coord"}},
	{path: "core/partition/partitiontest", floor: 2, sees: 0, fake: true},

	// Floor 3, actors: the step functions of the roles.
	{path: "core/server", floor: 3, sees: 2},
	{path: "core/client", floor: 3, sees: 2},
	{path: "core/coord", floor: 3, sees: 2},

	// Floor 4, training, and what is around the actors of a node.
	{path: "core/shell", floor: 4, sees: 3},
	{path: "data", floor: 4, sees: 3, tests: []string{"port/blob/s3", "port/blob/s3/s3test"}},
	{path: "train", floor: 4, sees: 3},
	{path: "train/traintest", floor: 4, sees: 3, also: []string{"train"}, fake: true},
	{path: "model", floor: 4, sees: 3},
	{path: "data/cache", floor: 4, sees: 3},
	{path: "node/archive", floor: 4, sees: 3, tests: []string{"port/blob/file", "port/blob/s3/s3test"}},
	{path: "data/demo", floor: 4, sees: 3},
	{path: "data/folds", floor: 4, sees: 3},

	// Floor 5, apps: they see what an app is (app), the rules and the training floor (the programming model, the
	// examples that data gives them, the model that they hand over), never an actor. Their tests train, so they need
	// what runs a job.
	{path: "app", floor: 5, sees: 2, also: []string{"train", "data", "model"}, tests: []string{"app/apptest"}},
	{path: "app/epochs", floor: 5, sees: 2, also: []string{"app", "train"}},
	{path: "app/examples", floor: 5, sees: 2, also: []string{"app", "app/epochs", "data", "model", "train"}},
	{path: "app/...", floor: 5, sees: 2, also: []string{"app", "app/epochs", "app/examples", "train", "data", "model"}, tests: []string{"node", "app/apptest"}},

	// Floor 6, faces and leaves.
	{path: "api", floor: 6, sees: 3},
	{path: "api/metrics", floor: 6, sees: -1},
	{path: "link/fabric", floor: 6, sees: 2, tests: []string{"link/transport/sock"}, leaf: true},
	{path: "link/secure", floor: 6, sees: 0},
	{path: "link/transport/sock", floor: 6, sees: 0, also: []string{"link/transport", "link/transport/acceptor", "link/wire", "link/secure"}, leaf: true},
	{path: "port/blob/file", floor: 6, sees: 0, also: []string{"port/blob"}, leaf: true},
	{path: "port/blob/s3", floor: 6, sees: 0, also: []string{"port/blob"}, leaf: true},
	{path: "port/blob/s3/s3test", floor: 6, sees: 0, also: []string{"port/blob", "port/blob/s3"}, fake: true},
	{path: "port/registry/etcd", floor: 6, sees: 0, also: []string{"port/registry"}, leaf: true},
	{path: "port/registry/file", floor: 6, sees: 0, also: []string{"port/registry"}, leaf: true},

	// Floor 7, assembly; floor 8, services that run jobs, keep what is known of them, and serve models; floor 9, the command line that any application gets; floor 10, the binary.
	{path: "node", floor: 7, sees: 6, big: true},
	{path: "node/measure", floor: 7, sees: 6},
	{path: "node/elastic", floor: 7, sees: 6, tests: []string{"policy/gauge/gaugetest"}, big: true},
	{path: "node/launch", floor: 7, sees: 6, big: true},
	{path: "node/cgroup", floor: 7, sees: -1},
	{path: "node/memory", floor: 7, sees: 4, also: []string{"node/cgroup"}},
	{path: "node/machine", floor: 7, sees: 6, also: []string{"node/cgroup"}},
	{path: "sim", floor: 7, sees: 6, big: true},
	{path: "sim/lab", floor: 7, sees: 6, big: true},
	{path: "sim/lab/cores", floor: 7, sees: 0},
	{path: "sim/lab/link", floor: 7, sees: 6},
	{path: "sim/lab/script", floor: 7, sees: 2},
	{path: "sim/lab/pattern", floor: 7, sees: 1},
	{path: "sim/lab/roles", floor: 7, sees: 2},

	{path: "run", floor: 8, sees: 7, also: []string{"run/datafiles", "run/event"}, big: true},
	{path: "run/datafiles", floor: 8, sees: 0},
	{path: "run/event", floor: 8, sees: 7},
	{path: "run/history", floor: 8, sees: 7, also: []string{"run", "run/event"}},
	{path: "run/history/historytest", floor: 8, sees: 7, also: []string{"run/event"}, fake: true},
	{path: "run/board", floor: 8, sees: 7, tests: []string{"policy/gauge/gaugetest"}, big: true},
	{path: "run/page", floor: 8, sees: 7, also: []string{"run", "run/event"}, tests: []string{"policy/gauge/gaugetest"}, big: true},
	{path: "serve", floor: 8, sees: 7, also: []string{"serve/predictions"}, big: true},
	{path: "serve/predictions", floor: 8, sees: 7, also: []string{"serve/oov"}},
	{path: "serve/oov", floor: 8, sees: 7},
	{path: "cluster", floor: 8, sees: 7, also: []string{"run/board"}},
	{path: "cluster/clustertest", floor: 8, sees: 7, fake: true},
	{path: "cluster/nodenames", floor: 8, sees: 7},
	{path: "cluster/lead", floor: 8, sees: 7, also: []string{"cluster", "cluster/nodenames"}, big: true},
	{path: "cluster/agent", floor: 8, sees: 7, also: []string{"cluster"}},
	{path: "cluster/manager", floor: 8, sees: 7, also: []string{"cluster", "cluster/lead", "run/event"}, big: true},
	{path: "cluster/recovery", floor: 8, sees: 7, also: []string{"cluster", "cluster/lead", "run", "run/board", "run/event"}},
	{path: "app/apptest", floor: 8, sees: 7, fake: true},
	{path: "cli", floor: 9, sees: 8, big: true},
	{path: "cli/clitest", floor: 9, sees: 8, also: []string{"port/blob/s3/s3test"}, fake: true},
	{path: "cmd/bellows", floor: 10, sees: 9},

	// Aside: nothing imports them. All but the examples are modules of their own.
	{path: "bench/lab", floor: aside, sees: 10, big: true},
	{path: "bench/...", floor: aside, sees: 10},
	{path: "examples/...", floor: aside, sees: 10},
	{path: "experiments/...", floor: aside, sees: 10},
	{path: "sim/cover", floor: aside, sees: 10},
	{path: "sim/mutate", floor: aside, sees: 10},
	{path: "port/registry/etcd/etcdtest/...", floor: aside, sees: 10, also: []string{"port/registry/etcd/etcdtest/member"}},
	{path: "vec/gen", floor: aside, sees: -1},
}

// edge lets from import to where the floors alone would not, and says why.
type edge struct{ from, to, why string }

// edges is every import between two rooms of one floor, and every other exception. One that the code no longer
// uses is a failure too, so that the list stays true.
var edges = []edge{
	{"sim/lab", "sim/lab/cores", "jobs of the laboratory share the cores of its machines"},
	{"sim/lab", "sim/lab/script", "things happen to the jobs of the laboratory"},
	{"sim/lab", "sim/lab/link", "frames of the laboratory travel on its links"},
	{"sim/lab", "sim/lab/pattern", "nodes of the laboratory are slow by patterns"},
	{"sim/lab", "sim/lab/roles", "jobs of the laboratory begin in any shape"},
	{"sim/lab", "node/measure", "a job of the laboratory measures itself"},
	// Siblings among the rules: schema below rule below store.
	{"table", "core/keys", "a cut says in which partition a key lives"},
	{"core/rowstore", "core/keys", "the rows of a sparse partition are numbered by their keys"},
	{"core/delta", "core/keys", "the deltas of a sparse partition are numbered by their keys"},
	{"core/rule", "table", "a rule is checked against the table that it updates, and its state is slots of that table's rows"},
	{"core/rowstore", "table", "a store is the rows that a schema describes"},
	{"core/rowstore", "link/wire", "an image has the sums that wait for their clock, by subtrees"},
	{"core/rowstore", "core/rule", "merging a delta runs the table's rule on the row"},
	{"core/delta", "table", "a delta has the width and type of its table's rows"},
	{"core/route", "table", "a route cuts tables into partitions"},
	{"core/agenda", "core/jobend", "a job in which no work is left has an outcome"},
	{"core/agenda", "core/journal", "a saved controller has its agenda"},
	{"core/claim", "core", "a job says into which units its clocks are divided"},
	{"core/claim", "core/gate", "units count in the order of the clocks of their splits"},
	{"core/claim", "core/journal", "a saved controller has its claims, and messages of flushes wait for their turn"},
	{"core/claim", "core/route", "a node is slow with the splits that the route gives it"},
	{"core/cache", "table", "what a read needs is in the schema of its table"},
	{"core/cache", "core/rule", "own deltas are laid over rows whose rule adds"},
	{"core/cache", "core/route", "a read is divided as its table is"},
	{"core/cache", "core/gate", "cached rows are shown by the rule by which a lane answers"},
	{"core/cache", "core/delta", "a split lays its own deltas over what it reads"},
	{"core/jobend", "core", "the end is of a job, and waits by its times"},
	{"core/jobend", "core/checkpoint", "the state of the tables is collected"},
	{"core/jobend", "core/journal", "a flush without a number is dropped from the counts"},
	{"core/jobend", "core/liveness", "it measures how long an actor has not closed"},
	{"core/jobend", "core/membership", "actors that take part are sent the end, and lost nodes are not waited for"},
	{"core/flush", "table", "what a flush sends is in the shape of its table"},
	{"core/flush", "core/route", "a flush that changes nothing goes to a lane that takes part"},
	{"core/flush", "core/delta", "a flush sends deltas, summed along the tree"},

	{"core/validate", "table", "what a message says is held against the tables"},
	{"core/validate", "core/rule", "a partition's state has as many slots as its rule"},

	{"core", "table", "a job has tables"},
	{"core", "core/route", "a job begins with a route"},
	{"core", "core/gate", "a job says which items a split has in a clock"},
	{"core", "core/liveness", "a job has the times that its actors wait for"},
	{"core", "link/wire", "actors are known by their addresses"},
	{"core/validate", "core", "a checker is made of the job whose frames it judges"},
	{"core/validate", "core/route", "a checker goes by the newest route that has passed it"},

	{"core/checkpoint", "table", "what has come is held against the tables"},
	{"core/checkpoint", "core/rule", "a partition's state has as many slots as its rule"},
	{"core/checkpoint", "core/route", "a lane sends the partitions that it owns"},
	{"core/checkpoint", "core/rowstore", "what is collected is the images of partitions"},
	{"core/checkpoint", "core", "a cut is of a job's tables and clocks"},
	{"core/checkpoint", "core/journal", "a cut has the controller's saved state"},
	{"core/validate", "core/handoff", "a piece is judged by what it is"},
	{"core/handoff", "core/rowstore", "a partition is copied as its rows are"},
	{"core/partition", "table", "a partition is rows of a table"},
	{"core/partition", "core/rowstore", "which a store holds"},
	{"core/partition", "core/delta", "the deltas of a clock are summed"},
	{"core/partition", "core/gate", "the gate says which leases may be granted"},
	{"core/partition", "core/lease", "leases on a partition are held by the rule of leases"},
	{"core/partition", "core/handoff", "a partition is copied to its next owner"},
	{"core/partition", "core/checkpoint", "and is given to cuts"},
	{"core/partition", "link/wire", "its effects are messages"},
	{"core/waitlist", "core/fence", "pushes of a process that was replaced do not wait"},
	{"core/waitlist", "core/prepare", "it measures pushes as they are held"},
	{"core/waitlist", "core/lanestate", "what waits for the state of a partition"},
	{"core/waitlist", "link/wire", "is a message"},
	{"core/commits", "core/partition", "chunks of a flush go to their partitions"},
	{"core/commits", "core/lanestate", "which are the lane's"},
	{"core/commits", "core/prepare", "a flush comes from those that were held"},
	{"core/commits", "link/wire", "a flush is a push, and its client gets a message"},
	{"core/migration", "core/handoff", "partitions move as streams"},
	{"core/migration", "core/partition", "which are copied at both ends"},
	{"core/migration", "core/lanestate", "a lane copies what it owns"},
	{"core/migration", "link/wire", "by messages"},
	{"core/reads", "core/lanestate", "reads are of a lane's partitions"},
	{"core/reads", "core/partition", "which have the leases and the subscribers"},
	{"core/reads", "core/gate", "the gate says which reads may be answered, and credits how much a node is sent"},
	{"core/reads", "core/prepare", "a flush without a number waits there"},
	{"core/reads", "core/fence", "only clients of the job are subscribed"},
	{"core/reads", "core/route", "what names an earlier owner is stale"},
	{"core/reads", "link/wire", "reads and their answers are messages"},
	{"core/lanestate", "core/partition", "the partitions of a lane are found here"},
	{"core/lanestate", "core/route", "the route says which of them are the lane's"},
	{"core/lanestate", "core/gate", "records count the units of the job"},
	{"core/lanestate", "core/checkpoint", "each partition is given to cuts"},
	{"core/lanestate", "link/wire", "partitions are named by pairs of messages"},
	{"core/lanestate", "table", "which are in tables"},
	{"core/partition/partitiontest", "core/partition", "a mirror reads the log of a partition"},
	{"core/partition/partitiontest", "core/rowstore", "and makes its changes in another store"},
	{"core/partition/partitiontest", "table", "of the same table"},
	{"link/session", "core/liveness", "how long a broken connection is tried again is in the table of times"},
	{"core/heartbeat", "core/liveness", "a node that is silent for a lease is lost"},
	{"core/journal", "core/gate", "a flush that has a number is known when it comes again"},
	{"core/journal", "core/recordlog", "the records that lanes keep are measured"},
	{"core/membership", "core", "the members of a job are its actors at first"},
	{"core/membership", "core/route", "each change of the membership is one of the route"},
	{"core/membership", "core/heartbeat", "a node that is silent or lost takes part no more"},
	{"core/membership", "core/liveness", "it measures how long an actor has been leaving"},
	{"core/membership", "core/journal", "a saved controller has its membership"},
	{"core/takeover", "core/journal", "messages of flushes wait until the records are known"},
	{"core/takeover", "core/membership", "lanes that take part are asked, and it excuses nodes that have left"},
	{"core/join", "core/liveness", "how long others are waited for is in the table of times"},

	{"policy/gauge", "policy/shape", "figures are of a job in its present shape"},
	{"policy/gauge/gaugetest", "policy/gauge", "a test has figures of a job"},
	{"policy/gauge/gaugetest", "policy/shape", "in any shape"},
	{"policy/cost", "policy/gauge", "a prediction is made from figures"},
	{"policy/cost", "policy/shape", "of the cost of a shape"},
	{"policy/choose", "policy/gauge", "the best shape is chosen by figures"},
	{"policy/choose", "policy/cost", "and by what they predict"},
	{"policy/choose", "policy/shape", "parts are dealt to the chosen nodes"},
	{"policy/choose", "policy/choose/bound", "and none can be faster than a bound"},
	{"policy/choose/bound", "policy/gauge", "a bound follows from figures"},
	{"policy/choose/bound", "policy/cost", "and from the times that these predict"},
	{"policy/advise", "policy/gauge", "a job is advised by its figures"},
	{"policy/advise", "policy/choose", "and by the best shape"},
	{"policy/advise", "policy/cost", "whose time is predicted"},
	{"policy/advise", "policy/plan", "and the steps to it are counted"},
	{"policy/advise", "policy/shape", "what is advised becomes a shape"},
	{"policy/plan", "policy/shape", "a plan is the way between two shapes"},
	{"policy/reshape", "policy/shape", "what is asked becomes a shape"},
	{"policy/reshape", "policy/plan", "and a plan, whose steps it begins"},

	{"api", "api/metrics", "the status of a job is also given as metrics"},

	// Ports.
	{"link/transport", "link/wire", "a stream is cut into frames by their headers"},

	{"port/registry/internal/keyspace", "port/registry", "it holds entries and changes as the port defines them"},

	// Assembly.
	{"node/launch", "node", "a process that was started runs a node"},
	{"node/machine", "node", "a machine's speed is that of a job which a node runs"},
	{"node/launch", "node/elastic", "what changes a job's shape starts processes"},
	{"node", "node/measure", "a controller measures its job"},
	{"node", "node/memory", "a node collects garbage before it collects tables"},
	{"node/elastic", "node", "it changes who takes part in a job, and who runs what"},

	// Services.
	{"cluster/internal/jobstore", "cluster", "the stored entries of a job have its submission, its state and its recoveries"},
	{"cluster/internal/spool", "cluster", "the output of a job is kept as frames of the cluster's API"},

	// Training.
	{"data/internal/stored", "data/cache", "what is parsed is kept in a folder with bounds"},
	{"data/demo", "data", "a demonstration is a data set made from a seed"},
	{"data/folds", "data", "folds are rows of a data set"},
	{"app/export/internal/peers", "app/export", "other programs are asked about each format that a model has"},

	// Rules that speak of messages. wire's messages are plain data: nothing is opened by naming one.
	{"core/delta", "link/wire", "a summed delta leaves as the chunk of a push"},
	{"core/gate", "link/wire", "the gate parks messages and lets them go"},
	{"core/fence", "link/wire", "whether a message is taken depends on its sender and its kind"},
	{"core/laneend", "link/wire", "a lane ends by messages, and sends its counts"},
	{"core/laneend", "core/route", "the record that removes a lane or client names its successor"},
	{"core/laneend", "core/checkpoint", "a lane that has closed gives its state away"},
	{"core/prepare", "link/wire", "a push is held as it came"},
	{"core/prepare", "table", "what is dropped is counted in rows of a table"},
	{"core/prepare", "core/route", "a sum is over splits that the sender runs"},
	{"core/prepare", "core/gate", "a flush that has a number is known when it comes again"},
	{"core/prepare", "core/fence", "what a process has pushed that was declared gone is dropped"},
	{"core/route", "link/wire", "a route ends in the address of a lane"},
	{"core/lease", "link/wire", "a lease is asked for by messages, and is an actor's"},
	{"core/handoff", "link/wire", "a partition travels as pieces"},
	{"core/recordlog", "link/wire", "the log has records"},
	{"core/cache", "link/wire", "rows are asked for and come by messages"},
	{"core/agenda", "link/wire", "clients learn of changes of staleness by messages"},
	{"core/claim", "link/wire", "work is dispatched and recalled by messages"},
	{"core/jobend", "link/wire", "actors end by messages, and send their counts"},
	{"core/flush", "link/wire", "a flush leaves as pushes, and lanes answer"},
	{"core/validate", "link/wire", "a checker judges messages"},
	{"core/checkpoint", "link/wire", "state travels as slabs"},
	{"core/journal", "link/wire", "records are sent, and lanes asked for theirs"},
	{"core/membership", "link/wire", "actors learn of changes by messages"},
	{"core/takeover", "link/wire", "lanes are asked for records by messages"},
	{"core/heartbeat", "link/wire", "nodes tell each other that they live"},
	{"link/session", "link/wire", "a session numbers envelopes and puts them in order"},

	{"app/linear", "app/mlr", "softmax is a loss of linear models, and mlr its name of its own"},
}

// TestRoomsExist wants a folder with Go for every room: what is not built yet has none.
func TestRoomsExist(t *testing.T) {
	t.Parallel()
	for _, r := range rooms {
		if found, _ := filepath.Glob(filepath.Join(strings.TrimSuffix(r.path, "/..."), "*.go")); len(found) == 0 && !strings.HasSuffix(r.path, "/...") {
			t.Errorf("there is no package %s: a room is entered in rooms when it is built", r.path)
		}
	}
}

// TestArchitecture reads the tree and prints one sentence for each violation of the rules.
func TestArchitecture(t *testing.T) {
	t.Parallel()
	for _, breach := range inspect(t, os.DirFS("."), house{rooms, edges, exempt}) {
		t.Error(breach)
	}
}
