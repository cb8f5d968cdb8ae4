// Command kmeans is an example of an application of one's own (k-means) with the whole command line of package cli.
// kmeans.go has the computation, and cli adds train, eval, predict, demo, status, --processes and the rest.
package main

import "bellows/cli"

func main() { cli.Main(kmeans{}) }
