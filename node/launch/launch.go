// Package launch runs a job in processes of this machine that it starts: node 0 is the one that calls Processes.Run, and each other calls RunChild.
//
// A process that is started is told who it is by one line on its standard input, says where it listens by one on its standard output, and is
// told where all others are. It ends with its standard input, so that none is left behind. The package refuses to reach for other machines.
package launch

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"

	"bellows"
	"bellows/link/transport"
	"bellows/node"
	"bellows/train"
)

// Processes is how a job runs in processes of this machine: this one leads, and others are started for it.
type Processes struct {
	Program   string        // what to start
	Args      []string      // its arguments, the first its name: it must come to call RunChild
	Members   []node.Member // node 0 is this process
	Transport string        // "unix" or "tcp"
	// Connections is how many each pair of processes has, at most ConnectionsMost; 0: one.
	Connections int
	// Roam lets the system move processes between processors; otherwise each that computes keeps to its share.
	Roam  bool
	Image []byte // a saved run to go on from, for RunChild to pass on; nil: none
}

// Run runs a job as node 0, and returns like Train. All processes have ended when it returns.
func (l Processes) Run(ctx context.Context, job train.Job, opt node.Options) (*node.Result, error) {
	folder, err := os.MkdirTemp("", "bellows-")
	if err != nil {
		return nil, bellows.Errorf(bellows.IO, "make", "a folder for sockets", "%w", err)
	}
	defer os.RemoveAll(folder)
	own, err := l.assign(folder, opt)
	if err != nil {
		return nil, err
	}
	self, err := own.listen()
	if err != nil {
		return nil, err
	}
	defer self.close()
	if opt.Notice == nil {
		opt.Notice = func(string) {}
	}
	fleet, err := startFleet(ctx, l, own, self.address(), opt.Notice)
	if err != nil {
		return nil, err
	}
	defer fleet.close()
	opt.Deaths = fleet.deaths
	conns, err := fleet.join(ctx, func(ctx context.Context) ([]transport.Conn, error) {
		return self.joinAt(ctx, fleet.addresses, opt.Notice)
	})
	if err != nil {
		return nil, err
	}
	opt.Links, opt.Alone = self.links(fleet.addresses), true
	return node.Lead(ctx, job, own.Cluster, conns, opt)
}

// assign is node 0's assignment, with what the others need to know.
func (l Processes) assign(folder string, opt node.Options) (assignment, error) {
	s := assignment{Cluster: node.Cluster{Members: l.Members, Connections: l.Connections}, Transport: l.Transport, Folder: folder,
		Wire: opt.Wire, Times: opt.Times}
	var token transport.Token
	if _, err := rand.Read(token[:]); err != nil {
		return s, bellows.Errorf(bellows.IO, "make", "the job's token", "%w", err)
	}
	s.Token = hex.EncodeToString(token[:])
	if l.Image == nil {
		return s, nil
	}
	s.Image = filepath.Join(folder, "image")
	if err := os.WriteFile(s.Image, l.Image, 0o600); err != nil {
		return s, bellows.Errorf(bellows.IO, "write", s.Image, "%w", err)
	}
	return s, nil
}
