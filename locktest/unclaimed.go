package locktest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// claimable are the interfaces by which an adapter, or its client, says what it can do besides.
var claimable = []reflect.Type{
	reflect.TypeFor[Reentrant](), reflect.TypeFor[Silent](), reflect.TypeFor[Watchdog](), reflect.TypeFor[Retrier](), reflect.TypeFor[Fencer](),
	reflect.TypeFor[Loser](), reflect.TypeFor[Idempotent](), reflect.TypeFor[Undoer](), reflect.TypeFor[ForceReleaser](), reflect.TypeFor[ForceTeller](),
	reflect.TypeFor[Inspector](), reflect.TypeFor[LeaseKeeper](), reflect.TypeFor[LeaseSetter](), reflect.TypeFor[Local](), reflect.TypeFor[Patient](),
	reflect.TypeFor[Tidy](), reflect.TypeFor[Fair](), reflect.TypeFor[Sharer](), reflect.TypeFor[Polling](), reflect.TypeFor[Resizer](), reflect.TypeFor[Drainer](),
	reflect.TypeFor[Deleter](), reflect.TypeFor[Leaser](), reflect.TypeFor[MultiLocker](), reflect.TypeFor[QuorumLocker](),
}

// unclaimed says which methods of an adapter, or of its client, look like a claim and are none: those that have the name of an interface's method, or of the
// interface, and not its parameters and results. A library's type that is embedded may have such methods, so that this is no error.
func unclaimed(adapter any) (said []string) {
	if adapter == nil {
		return nil
	}
	v := reflect.ValueOf(adapter)
	for _, claim := range claimable {
		if v.Type().Implements(claim) {
			continue
		}
		names := []string{claim.Name()}
		for m := range claim.NumMethod() {
			names = append(names, claim.Method(m).Name)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			is := v.MethodByName(name)
			if !is.IsValid() {
				continue
			}
			if m, has := claim.MethodByName(name); has && m.Type == is.Type() {
				continue // it lacks another method
			}
			said = append(said, fmt.Sprintf("its method %s claims nothing: %s asks for %s", method(name, is.Type()), claim.Name(), methods(claim)))
		}
	}
	return said
}

func methods(of reflect.Type) string {
	var all []string
	for m := range of.NumMethod() {
		all = append(all, method(of.Method(m).Name, of.Method(m).Type))
	}
	return strings.Join(all, " and ")
}

func method(name string, is reflect.Type) string {
	return name + strings.TrimPrefix(is.String(), "func")
}
