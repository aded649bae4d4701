package warp

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed preload/warp.c
var source []byte

// library returns the file of the library, which it compiles if it has not been compiled by this user: into the
// user's cache, or into the folder given if there is none.
func library(folder string) (string, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", errors.New("a small library has to be compiled, and there is no cc on PATH: " +
			"install gcc or clang (Debian: apt install gcc libc6-dev), or take a world of real time")
	}
	sum := sha256.Sum256(source)
	if cache, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(cache, "holdfast")
		if os.MkdirAll(cache, 0o700) == nil {
			folder = cache
		}
	}
	file := filepath.Join(folder, "warp-"+hex.EncodeToString(sum[:8])+".so")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	// Whoever comes at the same time makes the same file.
	made, err := os.CreateTemp(folder, ".warp-*.so")
	if err != nil {
		return "", err
	}
	made.Close()
	defer os.Remove(made.Name())
	compile := exec.Command(cc, "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", made.Name(), "-ldl", "-pthread")
	compile.Stdin = bytes.NewReader(source)
	if said, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot compile a small library (%w): %s", cc, err, firstError(string(said)))
	}
	return file, os.Rename(made.Name(), file)
}

// firstError is the line of a compiler's output that says what is wrong.
func firstError(said string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	for line := range strings.Lines(said) {
		if strings.Contains(line, "error:") {
			return strings.TrimSpace(line)
		}
	}
	return first
}
