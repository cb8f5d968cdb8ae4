package clusterverbs

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"bellows"
	"bellows/cli/internal/cluster"
	"bellows/cli/internal/line"
	"bellows/cli/internal/manager"
	"bellows/port/registry"
	"bellows/port/registry/etcd"
	"bellows/port/registry/etcd/member"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// registryCommand names the hidden command that is the registry of a cluster without --etcd.
const registryCommand = "cluster-registry"

// The registry of a cluster: its data and its sockets are in the cluster's folder, which nobody else may enter, and in which its manager runs.
const (
	registryData   = "registry"
	registryClient = "unix://registry:1"
	registryPeer   = "unix://registry:2"
	registryWithin = 30 * time.Second // to be ready
	registryAgain  = time.Second      // before one that has ended is started again
)

// etcdFlags declares how another registry is found.
func (u *up) etcdFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&u.Etcd, "etcd", nil, "`addresses` of an etcd cluster that is the registry, such as https://10.0.0.5:2379 (default: one of its own)")
	f.StringVar(&u.EtcdPrefix, "etcd-prefix", "bellows", "`name` of this cluster there, as several may share one etcd")
	f.StringVar(&u.EtcdCA, "etcd-ca", "", "`file` of the authority that has certified etcd (default: those that the system knows)")
	f.StringVar(&u.EtcdCert, "etcd-cert", "", "`file` of the certificate that is shown to etcd")
	f.StringVar(&u.EtcdKey, "etcd-key", "", "`file` of its key")
}

// checkEtcd refuses addresses and files that cannot be, and makes the files' names absolute: the manager runs in a folder of its own.
func (u *up) checkEtcd() error {
	for _, at := range u.Etcd {
		if err := etcd.CheckEndpoint(at); err != nil {
			return err
		}
	}
	if err := registry.CheckKey(u.EtcdPrefix); err != nil {
		return line.BadFlag("etcd-prefix", u.EtcdPrefix, "it must be of small letters, digits, and _ = . -")
	}
	for _, file := range []*string{&u.EtcdCA, &u.EtcdCert, &u.EtcdKey} {
		if *file == "" {
			continue
		}
		path, err := filepath.Abs(*file)
		if err != nil {
			return bellows.Errorf(bellows.IO, "find", *file, "%w", err)
		}
		*file = path
	}
	_, err := u.order.etcdTLS()
	return err
}

// etcdTLS is how etcd is made sure of, and what it is shown.
func (o *order) etcdTLS() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.EtcdCA != "" {
		text, err := os.ReadFile(o.EtcdCA)
		if err != nil {
			return nil, bellows.Errorf(bellows.NoInput, "read", o.EtcdCA, "%w", bellows.Pathless(err))
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, bellows.Errorf(bellows.BadData, "read", o.EtcdCA, "it has no certificate in PEM")
		}
	}
	if (o.EtcdCert == "") != (o.EtcdKey == "") {
		return nil, bellows.Errorf(bellows.Usage, "set", "--etcd-cert and --etcd-key", "one is nothing without the other").Hinted("give both")
	}
	if o.EtcdCert != "" {
		pair, err := tls.LoadX509KeyPair(o.EtcdCert, o.EtcdKey)
		if err != nil {
			return nil, bellows.Errorf(bellows.BadData, "read", o.EtcdCert, "%w", bellows.Pathless(err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// registry opens the registry that a manager has, and starts it where it is its own. end closes it.
func (c commands) registry(ctx context.Context, folder cluster.Folder, o *order) (r registry.Registry, end func(), err error) {
	if len(o.Etcd) > 0 {
		t, err := o.etcdTLS()
		if err != nil {
			return nil, nil, err
		}
		r, err := etcd.Open(ctx, etcd.Config{Endpoints: o.Etcd, Prefix: o.EtcdPrefix, TLS: t})
		if err != nil {
			return nil, nil, err
		}
		return r, func() { _ = r.Close() }, nil
	}
	members, err := folder.Members() // who takes the folder next waits for the registry, too
	if err != nil {
		return nil, nil, err
	}
	s := &server{members: members, ready: make(chan struct{}), failed: make(chan error, 1)}
	life, cancel := context.WithCancel(context.Background())
	s.running.Go(func() { s.supervise(life) })
	end = func() {
		cancel()
		s.running.Wait()
		members.Close()
	}
	late := time.NewTimer(registryWithin)
	defer late.Stop()
	select {
	case <-s.ready:
		r, err = etcd.Open(ctx, etcd.Config{Endpoints: []string{registryClient}, Prefix: "bellows"})
	case err = <-s.failed:
	case <-late.C:
		err = bellows.Errorf(bellows.Unavailable, "start", "the registry", "it is not ready within %v", registryWithin)
	case <-ctx.Done():
		err = bellows.Errorf(bellows.Interrupted, "start", "the registry", "%w", ctx.Err())
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	closed := end
	return r, func() {
		_ = r.Close()
		closed()
	}, nil
}

// server is the registry's process, and those that follow it.
type server struct {
	members *os.File // the lock that all processes of the cluster inherit
	running sync.WaitGroup
	ready   chan struct{} // closed when the first is
	failed  chan error    // the first has not come up
}

// supervise keeps the registry running until ctx ends.
func (s *server) supervise(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		up, err := s.once(ctx, first)
		if ctx.Err() != nil {
			return
		}
		if first && !up {
			s.failed <- err
			return
		}
		fmt.Fprintf(os.Stderr, "%s the registry has ended, and is started again: %v\n", time.Now().UTC().Format(time.RFC3339), err)
		again := time.NewTimer(registryAgain)
		select {
		case <-ctx.Done():
		case <-again.C:
		}
		again.Stop()
	}
}

// once runs the registry until it ends, or ctx does, and says whether it was ready. It ends with its standard input, thus with the manager in whatever way that ends.
func (s *server) once(ctx context.Context, first bool) (ready bool, err error) {
	path, err := cluster.Path()
	if err != nil {
		return false, err
	}
	cmd := exec.Command(path, registryCommand)
	cmd.Args[0] = os.Args[0]
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = manager.Mark(), os.Stderr, alone()
	cmd.ExtraFiles = []*os.File{s.members}
	in, err := cmd.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return false, bellows.Errorf(bellows.Lost, "start", "the registry", "%w", err)
	}
	stop := context.AfterFunc(ctx, func() { in.Close() })
	defer stop()
	if _, err := bufio.NewReader(out).ReadString('\n'); err == nil {
		ready = true
		if first {
			close(s.ready)
		}
	}
	err = cmd.Wait()
	if err == nil {
		err = errors.New("it has ended")
	}
	return ready, bellows.Errorf(bellows.Lost, "run", fmt.Sprintf("the registry (process %d)", cmd.Process.Pid), "%w", err).Hinted("what it said is in manager.log of the cluster's folder")
}

// registryCommand is the registry's process: an etcd member that is alone.
func (c commands) registryCommand() *cobra.Command {
	return &cobra.Command{Use: registryCommand, Hidden: true, Args: line.Exactly(), RunE: func(cmd *cobra.Command, _ []string) error {
		c.Calm.Store(true)
		if !manager.Inside() {
			return bellows.Errorf(bellows.Usage, "run", "a registry", "this process is started by a cluster's manager").Hinted("`up` starts a cluster")
		}
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			_, _ = io.Copy(io.Discard, c.In) // its end is what is waited for
			cancel()
		}()
		_ = syscall.Umask(0o077)
		return member.Run(ctx, member.Config{Folder: registryData, Name: "registry", Client: registryClient, Peer: registryPeer},
			func() { fmt.Fprintln(c.Out, "ready") })
	}}
}
