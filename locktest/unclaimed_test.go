package locktest

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-sim/holdfast/sim/bubble"
)

// almost has methods like those that are claims, and one that is one.
type almost struct{ Funcs }

func (almost) Reentrant()                                 {}
func (almost) Silent()                                    {}
func (almost) Queue() string                              { return "*:queue" }
func (almost) Token() string                              { return "" }
func (almost) IsLocked(ctx context.Context) (bool, error) { return false, nil } // as an Inspector has it, which it is not
func (almost) RenewEvery(lease time.Duration) time.Duration {
	return lease / 3
}

// A method that looks like a claim and is none would have a lock held to less than its author thinks.
func TestMethodsThatClaimNothingAreNamed(t *testing.T) {
	want := []string{
		"its method Reentrant() claims nothing: Reentrant asks for ReleaseOne(context.Context) (bool, error)",
		"its method RenewEvery(time.Duration) time.Duration claims nothing: Watchdog asks for RenewEvery() time.Duration",
		"its method Token() string claims nothing: Fencer asks for Token() int64",
		"its method Queue() string claims nothing: Fair asks for Queue() locktest.Queue",
	}
	if got := unclaimed(almost{}); !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if got := unclaimed(Funcs{}); len(got) > 0 {
		t.Errorf("of an adapter without any: %s", got)
	}
}

// Every interface that is a claim is looked at: all that are exported but what an adapter must have.
func TestEveryClaimIsLookedAt(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	least := []string{"Client", "Lock", "Semaphore", "PermitSemaphore", "Latch"}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if is, ok := spec.Type.(*ast.InterfaceType); !ok || !spec.Name.IsExported() || is.Methods.NumFields() == 0 || slices.Contains(least, spec.Name.Name) {
				return true
			}
			for _, claim := range claimable {
				if claim.Name() == spec.Name.Name {
					return true
				}
			}
			t.Errorf("%s: %s is not looked at", file, spec.Name.Name)
			return true
		})
	}
}

// onContext is an adapter that hands its context on to a watchdog that lives on it.
type onContext struct{ Funcs }

func (onContext) RenewEvery() time.Duration { return 10 * time.Second }

// Who wrote the adapter so is told what it may be, and not only that the lease ended.
func TestAWatchdogOnTheContextOfItsCallIsToldOf(t *testing.T) {
	newLock := func(of func(context.Context) context.Context) NewLock {
		return func(e Env) (Client, error) {
			return Locks(func(name, owner string) Lock {
				end := func() {} // the watchdog
				return onContext{Funcs{
					Try: func(ctx context.Context, lease time.Duration) error {
						ctx, over := context.WithCancel(ctx)
						defer over() // as that of a caller may be
						switch ok, err := e.Redis.SetNX(ctx, name, owner, lease).Result(); {
						case err != nil:
							return err
						case !ok:
							return ErrBusy
						}
						ctx, end = context.WithCancel(of(ctx))
						go func() {
							for every := time.NewTicker(lease / 3); ; {
								select {
								case <-ctx.Done():
									return
								case <-every.C:
									if e.Redis.PExpire(ctx, name, lease).Err() != nil {
										return
									}
								}
							}
						}()
						return nil
					},
					Unlock: func(ctx context.Context) error {
						end()
						return e.Redis.Del(ctx, name).Err()
					},
					Lease: 30 * time.Second,
				}}
			}), nil
		}
	}
	const hint = "context.WithoutCancel"
	for want, of := range map[bool]func(context.Context) context.Context{
		true:  func(ctx context.Context) context.Context { return ctx },
		false: context.WithoutCancel,
	} {
		o := optionsOf("lock", []Option{Only("watchdog-death"), Drawn(0), Reports("")})
		err := test(bubble.In(t), newLock(of), o)
		if got := err != nil && strings.Contains(err.Error(), hint); got != want {
			t.Errorf("told of the context: %t; right: %t: %v", got, want, err)
		}
	}
}
