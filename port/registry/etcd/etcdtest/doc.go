// Package etcdtest tests package etcd with real etcd servers. Its tests run the conformance suite, and kill and fill
// members.
//
// It is a separate module, so that a build or test of bellows compiles no etcd server: `./dev test` runs it, and `go test ./...` in this folder. Package member runs a server, and the command members runs
// three for scripts and benchmarks.
package etcdtest
