package main

import "os"

// point leaves no "latest": a link to a folder needs a privilege on Windows, and cannot be replaced in one step.
func point(string) error { return nil }

// latestOf is the name of the newest folder below parent, or "": their names begin with the time.
func latestOf(parent string) (name string) {
	entries, _ := os.ReadDir(parent) // in order
	for _, e := range entries {
		if e.IsDir() {
			name = e.Name()
		}
	}
	return name
}
