package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-sim/holdfast/checker"
	"github.com/holdfast-sim/holdfast/reports"
	"github.com/holdfast-sim/holdfast/scenarios"
	"github.com/holdfast-sim/holdfast/sim/fault"
	"github.com/holdfast-sim/holdfast/sim/plan"
)

// batchFile is in the folder of a batch, for -rerun-failed. The plan of a batch that is of one lies beside it.
const batchFile = "batch.json"

const batchVersion = 1

// storedBatch says which runs of a batch were not as expected, and where they took place.
type storedBatch struct {
	Version int         `json:"version"`
	Runs    int         `json:"runs"`             // of the whole batch
	Command string      `json:"command,omitzero"` // that made it
	Place   place       `json:"place,omitzero"`
	Addr    string      `json:"addr,omitzero"` // as -addr had it, without the password
	Failed  []storedRun `json:"failed"`
}

type storedRun struct {
	Scenario string `json:"scenario"`
	Subject  string `json:"subject"`
	Seed     uint64 `json:"seed"`
}

// storeBatch writes what [order.readFailed] reads.
func (o order) storeBatch(store *folder, command string, runs []reports.Summary) error {
	b := storedBatch{Version: batchVersion, Runs: len(runs), Command: command, Place: o.place, Addr: withoutPassword(o.place.Addr)}
	b.Place.URL = "" // the password is in it
	for _, r := range runs {
		if v := r.Verdict; v.Code() != checker.ExitExpected {
			b.Failed = append(b.Failed, storedRun{v.Scenario, v.Subject, v.Seed})
		}
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	if o.plan != nil {
		err = store.write(planFile, append(o.plan.JSON(), '\n'))
	}
	return errors.Join(err, store.write(batchFile, append(text, '\n')))
}

// readFailed has the order be about what was not as expected in the last batch below its folder.
func (o *order) readFailed(f *flag.FlagSet) error {
	for _, name := range []string{"scenario", "plan", "subject", "seed", "runs", "world", "timescale", "server", "allow-destructive"} {
		if given(f, name) {
			return fmt.Errorf("-rerun-failed takes -%s from the last batch: leave it out", name)
		}
	}
	if o.out == nowhere {
		return errors.New("-rerun-failed reads the last batch below -out, and -out none has none: name a folder")
	}
	parent := filepath.Join(o.out, batchFolder)
	latest := latestOf(parent) // by its own name: latest will be another one
	o.last = filepath.Join(parent, latest)
	text, err := read(os.DirFS(o.last), batchFile)
	if latest == "" || errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("-rerun-failed: no batch is stored below %s: ask for several runs first, such as simrun -scenario all", o.out)
	}
	if err == nil {
		err = o.take(text, given(f, "addr"))
	}
	if err != nil {
		return fmt.Errorf("-rerun-failed: %s: %w", filepath.Join(o.last, batchFile), cause(err))
	}
	return nil
}

// take reads the order from a stored batch. The server's address is kept if it was given anew.
func (o *order) take(text []byte, addressed bool) error {
	var b storedBatch
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	given := o.place
	switch {
	case b.Version != batchVersion:
		return fmt.Errorf("version %d, but this program reads version %d", b.Version, batchVersion)
	case addressed && b.Addr == "":
		return errors.New("the last batch was not on a server of yours: leave -addr out")
	case !addressed && strings.Contains(b.Addr, "PASSWORD@"):
		return fmt.Errorf("the password of %s is not stored: name the server anew with -addr", b.Addr)
	}
	o.place = b.Place
	if o.place.Addr = b.Addr; addressed {
		o.place.Addr, o.place.TLS = given.Addr, given.TLS
	}
	if err := o.place.check(); err != nil {
		return err
	}
	file := filepath.Join(o.last, planFile)
	p, err := os.Open(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s: %w", planFile, cause(err))
	default:
		defer p.Close()
		if o.plan, err = plan.Read(p); err == nil {
			err = o.plan.Check(fault.Needs())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", planFile, err)
		}
		o.planFile = file
	}
	var locks []string
	for _, r := range b.Failed {
		if _, ok := scenarios.Find(r.Scenario); !ok && o.plan == nil {
			return unknown("scenario", r.Scenario, scenarios.Names())
		}
		if _, ok := findSubject(r.Subject); !ok && !isProcess(r.Subject) {
			return unknown("subject", r.Subject, subjectNames())
		}
		if !slices.Contains(locks, r.Subject) {
			locks = append(locks, r.Subject)
		}
	}
	o.subject, o.failed, o.ran = strings.Join(locks, ","), b.Failed, b.Runs
	return nil
}

// failedJobs are the jobs of [order.jobs] where what failed is run again. Seeds that follow each other make one job.
func (o order) failedJobs() (jobs []job, left []leftOut) {
	whys := map[[2]string]string{}
	for _, r := range o.failed {
		key := [2]string{r.Scenario, r.Subject}
		why, asked := whys[key]
		if !asked {
			if why = o.lacks(r.Scenario, r.Subject); why != "" {
				left = append(left, leftOut{r.Scenario, r.Subject, why})
			}
			whys[key] = why
		}
		if why != "" {
			continue
		}
		if n := len(jobs); n > 0 && jobs[n-1].sameAs(r.Scenario, r.Subject) && jobs[n-1].Seed+uint64(jobs[n-1].Runs) == r.Seed {
			jobs[n-1].Runs++
			continue
		}
		jobs = append(jobs, o.job(r.Scenario, r.Subject, r.Seed, 1))
	}
	return jobs, left
}
