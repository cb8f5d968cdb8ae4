// Package etcdtest holds the etcd implementation of the registry port against real etcd servers. Its tests run the conformance suite, and kill and fill members.
//
// It is a module of its own, so that nobody who builds or tests bellows compiles an etcd server: `./dev test` runs it, and `go test ./...` in this folder. Package member runs a server in a process of its
// own, and the command members runs three for scripts and benchmarks.
package etcdtest
