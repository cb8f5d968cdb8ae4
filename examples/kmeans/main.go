// Command kmeans is a program with an application of its own: kmeans.go says what is computed, and cli makes of it train,
// eval, predict, demo, status, --processes and the rest.
package main

import "bellows/cli"

func main() { cli.Main(kmeans{}) }
