// Package sim runs a plan: it makes a world, opens the subject's clients in it, lets their
// programs run while faults strike, and returns the history. The world itself is in sim/world;
// plans are data in sim/plan; faults are in sim/fault.
//
// It must not know what is right or wrong: checkers judge the history afterwards.
//
// To add a step that programs can take: its action in sim/plan, and a case in program.go.
package sim
