// Command kmeans is a program with an application of its own: kmeans.go has the computation, and cli adds train, eval,
// predict, demo, status, --processes and the rest.
package main

import "bellows/cli"

func main() { cli.Main(kmeans{}) }
