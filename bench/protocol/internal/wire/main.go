// Package wire measures pushes and pulls between a node with a server lane and a node with a client, over loopback TCP
// or Unix sockets. Each node is in a separate process.
//
// Compared with it, turn by turn: a bidirectional gRPC stream with a codec that copies nothing, a plain loop that
// copies the same bytes through a socket and touches the table as often, and redis. CPU time is that of client and
// server together.
package wire

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"bellows/bench/internal/pair"
)

// The goals of the rows: ratios of speeds.
const (
	grpcLeast  = 2       // CPU time: at most half of gRPC's
	plainLeast = 1 / 1.8 // at most 1.8 of the plain loop's
	redisLeast = 0.3     // of the rate of pipelined requests
	tripLeast  = 0.5     // a round trip: at most twice redis'
	tailMost   = 10      // round trips: the 99th percentile under full compute
	psliteRate = 76_000  // pushes of 1 KiB a second, recorded
	psliteMany = 3       // times that
	allocsMost = 0.02    // a request: none, and a handful for a whole turn
)

// How many requests are in flight.
const (
	largeWindow = 32
	smallWindow = 256
)

// Program is the measurement.
var Program = pair.Program{Name: "wire", Turns: [2]int{3, 9}, Define: define, Strict: true,
	Roles: map[string]func([]string){"frames": contends(serveFrames, driveFrames), "plain": contends(servePlain, drivePlain)}}

func define(flags *flag.FlagSet) func(b *pair.Bench) {
	unix := flags.Bool("unix", false, "Unix sockets instead of TCP")
	return func(p *pair.Bench) {
		kind := "TCP"
		if *unix {
			kind = "Unix sockets"
		}
		p.Header("wire: a client's and a server's process over loopback, %s", kind)
		b := &bench{Bench: p, unix: *unix, folder: pair.Must(os.MkdirTemp("", "bellows-wire."))}
		defer os.RemoveAll(b.folder)
		err := pair.Attempt(func() {
			b.start()
			p.Parts(p.Part, pair.Part{Name: "bytes", Run: b.large}, pair.Part{Name: "requests", Run: b.small}, pair.Part{Name: "trips", Run: b.trips})
		})
		pair.Check(errors.Join(err, b.end()))
	}
}

// contends returns the role of a contender's two processes, by its arguments: "serve ADDRESS" or "drive ADDRESS".
func contends(serve, drive func(address string)) func(args []string) {
	return func(args []string) {
		do := map[string]func(string){"serve": serve, "drive": drive}[args[0]]
		if do == nil || len(args) != 2 {
			pair.Check(fmt.Errorf("a contender is to serve or drive at an address, not %q", args))
		}
		do(args[1])
	}
}

// bench is one run of the command.
type bench struct {
	*pair.Bench
	unix   bool
	folder string
	places int // sockets in the folder

	contenders        []*contender // that have been started
	ours, plain, grpc *contender   // grpc is nil where it is not there
	redis             *redis       // nil: none
}

// start runs the processes of all sides that are there.
func (b *bench) start() {
	self := pair.Must(os.Executable())
	b.ours = b.contender("bellows", self, pair.RoleArgs("frames")...)
	b.plain = b.contender("plain loop", self, pair.RoleArgs("plain")...)
	if err := pair.Attempt(func() { b.grpc = b.contender("gRPC", buildPeer(b.folder)) }); err != nil {
		b.Note("gRPC is missing: %v", err)
	}
	if err := pair.Attempt(func() { b.redis = startRedis(b.address()) }); errors.Is(err, errNoRedis) {
		b.Note("redis is missing: %v", err)
	} else {
		pair.Check(err)
	}
}

// address returns a new address: a socket in a new folder, or a port that the system chooses.
func (b *bench) address() string {
	if !b.unix {
		return "tcp:127.0.0.1:0"
	}
	b.places++
	folder := filepath.Join(b.folder, fmt.Sprint(b.places))
	pair.Check(os.Mkdir(folder, 0o700))
	return "unix:" + filepath.Join(folder, "s")
}

// end lets all processes go.
func (b *bench) end() (err error) {
	for _, c := range b.contenders {
		err = errors.Join(err, c.close())
	}
	if b.redis != nil {
		err = errors.Join(err, b.redis.close())
	}
	return err
}

// buildPeer builds the gRPC peer, which has a module of its own.
func buildPeer(folder string) (program string) {
	const source = "bench/protocol/internal/wire/peer-grpc"
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		pair.Check(fmt.Errorf("run this from the root of the repository: %w", err))
	}
	program = filepath.Join(folder, "peer-grpc")
	pair.RunProgram("go build", "go", nil, "build", "-C", source, "-o", program, ".")
	return program
}
