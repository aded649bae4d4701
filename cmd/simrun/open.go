package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/holdfast-sim/holdfast/checker"
)

func openFlag(f *flag.FlagSet, open *bool) {
	f.BoolVar(open, "open", false, "show the report in your browser")
}

// exists reports whether there is such a file.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// opener is the program that shows a file in the user's browser, and what it wants to hear before the file.
func opener() (program string, before []string) {
	switch runtime.GOOS {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	return "xdg-open", nil
}

// openPatience is how long the opener has to say that it failed. Some become the browser and stay.
const openPatience = 2 * time.Second

// openPage shows a page in the user's browser, or says where the page is. That is no matter of the exit code.
func openPage(page string, stderr io.Writer) {
	if err := startOpener(page); err != nil {
		fail(stderr, checker.ExitExpected, "-open: %v; the report is %s", err, page)
	}
}

func startOpener(page string) error {
	whole, err := filepath.Abs(page)
	if err != nil {
		return err
	}
	name, words := opener()
	program, err := exec.LookPath(name)
	if err != nil {
		return errors.New("there is no " + name + " here, which would show it")
	}
	cmd := exec.Command(program, append(words, whole)...)
	cmd.SysProcAttr = detached() // Ctrl-C is for this program, not for the browser
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(openPatience):
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
