package rollout

// behaviour represents a copy at an age.
type behaviour struct {
	// ready: all but a database that seeds is. down: it ceases to serve customers. seeds: a replica of the database
	// copies data. rebuilds: one does that was lost. refuses: it keeps what it had. failure says why it
	// needs a user.
	ready, down, seeds, rebuilds, refuses bool
	failure                               string
}

// conductOf returns how a copy behaves in the ticks after it got a revision, by the name of its conduct.
func conductOf(name string) func(age int) behaviour {
	switch name {
	case "slow":
		return func(age int) behaviour { return behaviour{ready: age >= 6} }
	case "stuck":
		return func(age int) behaviour { return behaviour{failure: after(age, 40, noProgress("1 of 2"))} }
	case "flapping":
		return func(age int) behaviour { return behaviour{ready: age >= 2 && age%3 != 0} }
	case "bad": // The pods of the earlier revision stay.
		return func(age int) behaviour { return behaviour{failure: after(age, 3, noProgress("1 of 2"))} }
	case "down":
		return func(age int) behaviour {
			return behaviour{down: age >= 1, failure: after(age, 4, noProgress("0 of 2"))}
		}
	case "dead":
		return func(int) behaviour { return behaviour{down: true} }
	case "patient": // It waits for a node that is lost.
		return func(age int) behaviour { return behaviour{ready: age >= 40} }
	case "late": // A Deployment that was complete once reports no deadline.
		return func(age int) behaviour { return behaviour{ready: age >= 2 && age < 9, down: age >= 9} }
	case "leaking": // It runs out of memory after longer than it soaks.
		return func(age int) behaviour {
			return behaviour{ready: age >= 2 && age%7 != 0, down: age > 0 && age%7 == 0}
		}
	case "refused": // Its data is of too early a server.
		return func(age int) behaviour { return behaviour{ready: age >= 2, refuses: true} }
	case "seeding": // A replica of a large database copies for an hour.
		return func(age int) behaviour { return behaviour{ready: age >= 2, seeds: age >= 1 && age < 120} }
	case "rebuilding": // A replica is lost again and again, and copies the data each time.
		return func(age int) behaviour { return behaviour{ready: age >= 2, rebuilds: age >= 3 && age%4 != 0} }
	default:
		return func(age int) behaviour { return behaviour{ready: age >= 2} }
	}
}

// noProgress returns what a copy says of a Deployment whose own deadline has passed.
func noProgress(ready string) string {
	return "ProgressDeadlineExceeded: frontend: Deployment shop-frontend made no progress within its deadline: " + ready + " replicas are ready"
}

func after(age, ticks int, failure string) string {
	if age < ticks {
		return ""
	}
	return failure
}
