//go:build race

package main

// A race detector that looks at this process alone would see little of a program that works in others.
func init() { build = append(build, "-race") }
