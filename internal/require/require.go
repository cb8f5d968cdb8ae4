// Package require has checks that stop a test at the first step without which it cannot continue.
//
// NoError is for set-up: opening a store, delivering a message, moving a partition. A check that the test is about
// prints what it wanted and what it got, and stays an if statement in the test. The package holds no other assertions.
// It has the names of github.com/stretchr/testify/require, whose other 150 functions nothing here needs.
package require

import "testing"

// NoError stops the test unless err is nil. It must be called by the goroutine that runs the test.
func NoError(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}
