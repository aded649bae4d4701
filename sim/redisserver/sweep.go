package redisserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Sweep removes the keys whose names contain part, and to which match says yes if it is not nil, and returns how many. Its
// error says which may stay.
func Sweep(ctx context.Context, client *redis.Client, part string, match func(key string) bool) (removed int, err error) {
	keys := client.Scan(ctx, 0, "*"+part+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if key := keys.Val(); match == nil || match(key) {
			if err = client.Del(ctx, key).Err(); err != nil {
				break
			}
			removed++
		}
	}
	if err = errors.Join(err, keys.Err()); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return removed, fmt.Errorf("keys with %s in their names may stay on the server: locks until their leases end, others until "+
			"somebody removes them, as simrun clean does (%s)", part, text)
	}
	return removed, nil
}

// Names of keys of runs contain that of the run: holdfast:, ten characters that chance draws, and eight that follow from those.
const (
	runPrefix = "holdfast:"
	drawn     = 10
	seal      = 8
)

// RunName draws a name for a run. It is part of the names of all its keys, by which [Remote.Clean] knows them.
func RunName() string {
	text := strings.ToLower(rand.Text()[:drawn])
	return runPrefix + text + sealOf(text)
}

// sealOf is what follows ten characters in the name of a run. No key of somebody else has it by chance: it is one of 2^40.
func sealOf(text string) string {
	sum := sha256.Sum256([]byte("a run of holdfast: " + text))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:seal])
}

var (
	named = regexp.MustCompile(fmt.Sprintf(`%s([a-z2-7]{%d})([a-z2-7]{%d}):`, runPrefix, drawn, seal))
	// What runs of older versions are called, but others may call something so as well.
	unsealed = regexp.MustCompile(runPrefix + `[a-z2-7]{8}(?:[a-z2-7]{2})?:`)
)

// runOf is the run that a key belongs to; if certain is false, perhaps: of an older version. It is "" for a key of somebody else.
func runOf(key string) (run string, certain bool) {
	for _, m := range named.FindAllStringSubmatch(key, -1) {
		if sealOf(m[1]) == m[2] {
			return strings.TrimSuffix(m[0], ":"), true
		}
	}
	return strings.TrimSuffix(unsealed.FindString(key), ":"), false
}

// IsRunName reports whether a run may be called so, one of an older version included.
func IsRunName(name string) bool {
	run, _ := runOf(name + ":")
	return run == name && name != ""
}

// Cleaned is what [Remote.Clean] has done.
type Cleaned struct {
	Removed int      // keys
	Runs    []string // that they were of
	Left    []string // runs of older versions, perhaps: their keys stay
}

// Clean removes what runs have left on the server: those that are named, or all. A run that is under way loses its keys as well. What may be
// of an older version, or of somebody else, stays unless it is named.
func (r *Remote) Clean(ctx context.Context, names []string) (c Cleaned, err error) {
	client := redis.NewClient(r.RedisOptions())
	defer client.Close()
	note := func(list *[]string, run string) {
		if !slices.Contains(*list, run) {
			*list = append(*list, run)
		}
	}
	c.Removed, err = Sweep(ctx, client, runPrefix, func(key string) bool {
		run, certain := runOf(key)
		switch {
		case run == "":
			return false
		case slices.Contains(names, run), len(names) == 0 && certain:
			note(&c.Runs, run)
			return true
		case len(names) == 0:
			note(&c.Left, run)
		}
		return false
	})
	return c, err
}
