package main

func factorKernels() {}
