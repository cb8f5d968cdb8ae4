package clusterverbs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cluster"
	"bellows/port/registry"
	"bellows/port/registry/etcd"
	"bellows/port/registry/file"

	"github.com/spf13/pflag"
)

// registryFolder is the folder of a cluster's own registry, in the cluster's folder.
const registryFolder = "registry"

// etcdFlags declares how another registry is found.
func (u *up) etcdFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&u.Etcd, "etcd", nil, "`ADDRS` of an etcd cluster as registry (default: its own)")
	f.StringVar(&u.EtcdPrefix, "etcd-prefix", "bellows", "`NAME` of this cluster in etcd")
	f.StringVar(&u.EtcdCA, "etcd-ca", "", "`FILE` of the authority that certified etcd (default: the system's)")
	f.StringVar(&u.EtcdCert, "etcd-cert", "", "`FILE` of the certificate to show to etcd")
	f.StringVar(&u.EtcdKey, "etcd-key", "", "`FILE` of the key of --etcd-cert")
}

// checkEtcd refuses invalid addresses and files, and makes the files' names absolute: the manager runs in its own
// folder.
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

// etcdTLS returns how etcd is made sure of, and what it is shown.
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
		return nil, bellows.Errorf(bellows.Usage, "set", "--etcd-cert and --etcd-key", "they are needed together").Hinted("give both")
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

// registry opens the registry of a manager: the etcd cluster that was asked for, or that of the folder, which the manager has locked.
func (o *order) registry(ctx context.Context, folder cluster.Folder) (registry.Registry, error) {
	if len(o.Etcd) > 0 {
		t, err := o.etcdTLS()
		if err != nil {
			return nil, err
		}
		return etcd.Open(ctx, etcd.Config{Endpoints: o.Etcd, Prefix: o.EtcdPrefix, TLS: t})
	}
	path := filepath.Join(folder.Path, registryFolder)
	if _, err := os.Lstat(filepath.Join(path, "member")); err == nil {
		return nil, bellows.Errorf(bellows.Refused, "open registry", path, "it was written by etcd, in an earlier build of this program, and cannot be read").
			Hinted(fmt.Sprintf("see its jobs with `up` and `jobs` of that build, or forget them: rm -r %s", path))
	}
	s, err := file.Open(file.Config{Folder: path})
	if err != nil {
		return nil, err
	}
	return ownRegistry{s.Client(), s}, nil
}

// ownRegistry is the only client of the registry in a cluster's folder. Its end is the registry's.
type ownRegistry struct {
	registry.Registry
	store *file.Store
}

// Close implements registry.Registry.
func (r ownRegistry) Close() error { return errors.Join(r.Registry.Close(), r.store.Close()) }
