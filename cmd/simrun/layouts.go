package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/holdfast-sim/holdfast/history"
	"github.com/holdfast-sim/holdfast/subjects/workers"
)

// keptLayout is what a probe learned of a lock whose worker was built here. It is kept beside that worker, since a probe
// takes longer than most stories.
type keptLayout struct {
	Program string         `json:"program"` // the sum of that which probed
	Server  string         `json:"server"`
	Layout  history.Layout `json:"layout"`
}

// layoutOf returns how a lock is kept in Redis: what this program learned of the same worker on the same server, or else
// what a probe shows now. What a probe did not understand is not kept.
func layoutOf(ctx context.Context, name string, at place, out io.Writer) (history.Layout, error) {
	l, built := workers.Find(name)
	if !built {
		return probe(ctx, name, at)
	}
	dir, err := l.Folder(ctx, func(what string) { say(out, "simrun: %s\n", what) })
	if err != nil {
		return history.Layout{}, fmt.Errorf("-subject %s: %w", name, err)
	}
	file := filepath.Join(dir, "layout-"+l.Name+".json")
	return keepLayout(file, at.Server, func() (history.Layout, error) { return probe(ctx, name, at) })
}

// keepLayout returns the layout that a file has, or one that it makes and keeps there, if it can.
func keepLayout(file, server string, probe func() (history.Layout, error)) (history.Layout, error) {
	sum, err := ownSum()
	if err != nil {
		return probe()
	}
	var kept keptLayout
	if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &kept) == nil && kept.Program == sum && kept.Server == server {
		return kept.Layout, nil
	}
	kept = keptLayout{Program: sum, Server: server}
	if kept.Layout, err = probe(); err != nil || kept.Layout.Unknown != "" {
		return kept.Layout, err
	}
	text, _ := json.Marshal(kept) // strings, always encodable
	made := fmt.Sprintf("%s.%d", file, os.Getpid())
	if writeFile(made, text) != nil || os.Rename(made, file) != nil { // others may read it meanwhile
		_ = os.Remove(made)
	}
	return kept.Layout, nil
}

// ownSum is a sum of this program, other than which may probe otherwise.
var ownSum = sync.OnceValues(func() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)[:12]), err
})

// probe has a worker process watch how a lock is kept.
func probe(ctx context.Context, name string, at place) (history.Layout, error) {
	w := &worker{}
	defer w.dismiss()
	r := w.do(ctx, job{Subject: name, Seed: 1, Runs: 1, Out: nowhere, Place: at, Probe: true})[0]
	if r.Error != "" {
		return history.Layout{}, fmt.Errorf("-subject %s: %s", name, r.Error)
	}
	return *r.Layout, nil
}
