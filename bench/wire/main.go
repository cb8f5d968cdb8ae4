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
	options := pair.Flags()
	if role, address, ok := asChild(os.Args); ok {
		pair.Exit(role(address))
		return
	}
	pair.Exit(options.Parse(3, 9))
	pair.Exit(compare(options, *unix))
}

// asChild says whether this process is one of a contender's.
func asChild(args []string) (role func(address string) error, address string, ok bool) {
	if len(args) != 4 {
		return nil, "", false
	}
	role, ok = map[string]func(string) error{
		"frames serve": serveFrames, "frames drive": driveFrames,
		"plain serve": servePlain, "plain drive": drivePlain,
	}[args[1]+" "+args[2]]
	return role, args[3], ok
}

// bench is one run of the command.
type bench struct {
	*pair.Table
	options *pair.Options
	ours    *contender
	plain   *contender
	grpc    *contender // nil: not there
	redis   *redis     // nil: not there
}

// compare runs all rows.
func compare(options *pair.Options, unix bool) (err error) {
	kind := "TCP"
	if unix {
		kind = "Unix sockets"
	}
	options.Header(os.Stdout, fmt.Sprintf("wire: a client's and a server's process over loopback, %s", kind))
	folder, err := os.MkdirTemp("", "bellows-wire.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	b := &bench{Table: pair.NewTable(os.Stdout, options.JSON), options: options}
	defer func() { err = errors.Join(err, b.end()) }()
	if err := b.start(&places{unix: unix, folder: folder}); err != nil {
		return err
	}
	for _, part := range []func() error{b.large, b.small, b.trips} {
		if err := part(); err != nil {
			return err
		}
	}
	b.Close()
	return b.Verdict()
}

// start runs the processes of all sides that are there.
func (b *bench) start(at *places) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	address := func() string {
		a, aerr := at.next()
		err = errors.Join(err, aerr)
		return a
	}
	addresses := [4]string{address(), address(), address(), address()}
	if err != nil {
		return err
	}
	if b.ours, err = start("bellows", self, addresses[0], "frames"); err != nil {
		return err
	}
	if b.plain, err = start("plain loop", self, addresses[1], "plain"); err != nil {
		return err
	}
	if peer, err := buildPeer(at.folder); err != nil {
		b.Note("gRPC is missing: %v", err)
	} else if b.grpc, err = start("gRPC", peer, addresses[2]); err != nil {
		return err
	}
	if b.redis, err = startRedis(addresses[3]); errors.Is(err, errNoRedis) {
		b.Note("redis is missing: %v", err)
	} else if err != nil {
		return err
	}
	return nil
}

// end lets all processes go.
func (b *bench) end() error {
	var err error
	for _, c := range []*contender{b.ours, b.plain, b.grpc} {
		if c != nil {
			err = errors.Join(err, c.close())
		}
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
	if _, _, err := pair.Once("go build", "go", nil, "build", "-C", source, "-o", program, "."); err != nil {
		return "", err
	}
	return program, nil
}
