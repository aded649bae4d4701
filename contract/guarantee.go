package contract

// Guarantee names one question that a run is judged by.
type Guarantee string

const (
	Object    Guarantee = "object"
	Exclusion Guarantee = "exclusion"
	Effect    Guarantee = "effect"
	Fencing   Guarantee = "fencing"
	Watchdog  Guarantee = "watchdog"
	Liveness  Guarantee = "liveness"
	Fairness  Guarantee = "fairness"
)

// Guarantees lists all, in the order in which verdicts have them.
func Guarantees() []Guarantee {
	return []Guarantee{Object, Exclusion, Effect, Fencing, Watchdog, Liveness, Fairness}
}
