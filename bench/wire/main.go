// Command wire shows what the data plane costs: pushes and pulls between a node with a server lane and a node with a client,
// each in a process of its own, over loopback TCP or Unix sockets.
//
// Beside it run, turn by turn: a bidirectional gRPC stream with a codec that copies nothing, a plain loop that copies the
// same bytes through a socket and touches the table as often, and redis. CPU time is that of client and server together.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"bellows/bench/internal/pair"
)

// What the rows are held against: ratios of speeds.
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

func main() {
	unix := flag.Bool("unix", false, "Unix sockets instead of TCP")
	if role, address, ok := asChild(os.Args); ok {
		pair.Exit(pair.Attempt(func() { role(address) }))
		return
	}
	pair.Main(3, 9, func(p *pair.Bench) {
		p.Strict = true
		kind := "TCP"
		if *unix {
			kind = "Unix sockets"
		}
		p.Header("wire: a client's and a server's process over loopback, %s", kind)
		b := &bench{Bench: p, unix: *unix, folder: pair.Must(os.MkdirTemp("", "bellows-wire."))}
		defer os.RemoveAll(b.folder)
		err := pair.Attempt(func() {
			b.start()
			b.large()
			b.small()
			b.trips()
		})
		pair.Check(errors.Join(err, b.end()))
	})
}

// asChild says whether this process is one of a contender's.
func asChild(args []string) (role func(address string), address string, ok bool) {
	if len(args) != 4 {
		return nil, "", false
	}
	role, ok = map[string]func(string){
		"frames serve": serveFrames, "frames drive": driveFrames,
		"plain serve": servePlain, "plain drive": drivePlain,
	}[args[1]+" "+args[2]]
	return role, args[3], ok
}

// bench is one run of the command.
type bench struct {
	*pair.Bench
	unix   bool
	folder string
	places int // sockets in the folder

	contenders        []*contender // that have been started
	ours, plain, grpc *contender   // grpc is nil where it is not there
	redis             *redis       // likewise
}

// start runs the processes of all sides that are there.
func (b *bench) start() {
	self := pair.Must(os.Executable())
	b.ours = b.contender("bellows", self, "frames")
	b.plain = b.contender("plain loop", self, "plain")
	if peer, err := buildPeer(b.folder); err != nil {
		b.Note("gRPC is missing: %v", err)
	} else {
		b.grpc = b.contender("gRPC", peer)
	}
	var err error
	if b.redis, err = startRedis(b.address()); errors.Is(err, errNoRedis) {
		b.Note("redis is missing: %v", err)
	} else {
		pair.Check(err)
	}
}

// address is a new one: of a socket in a folder of its own, or of a port that the system chooses.
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
func buildPeer(folder string) (program string, err error) {
	const source = "bench/wire/peer-grpc"
	if _, err := os.Stat(filepath.Join(source, "go.mod")); err != nil {
		return "", fmt.Errorf("run this from the root of the repository: %w", err)
	}
	program = filepath.Join(folder, "peer-grpc")
	_, _, err = pair.Once("go build", "go", nil, "build", "-C", source, "-o", program, ".")
	return program, err
}
