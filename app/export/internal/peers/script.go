package main

import _ "embed"

// script is what node runs.
//
//go:embed run.mjs
var script []byte
