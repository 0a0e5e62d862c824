package replication

import (
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const observed = `primary 7449110000000000001 3 3/1000
oldest 0000000300000002000000FE
segment 16777216
replica 127.0.0.2 0
replica 127.0.0.3 75
`

// TestDecide checks that a replica is Lost only if the primary has all its data and cannot send it the next changes.
func TestDecide(t *testing.T) {
	const follows, waits = "recovers streams 7449110000000000001 3 ", "recovers waits 7449110000000000001 3 "
	primary, err := ParsePrimary(observed)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		address, replica string
		state            v1.ReplicaState
		lag              time.Duration
	}{
		"streams":                       {"127.0.0.2", follows + "3/1000 0", v1.ReplicaFollowing, 0},
		"is behind":                     {"127.0.0.3", follows + "3/0 0", v1.ReplicaFollowing, 75 * time.Second},
		"applies late":                  {"127.0.0.3", follows + "3/0 90", v1.ReplicaFollowing, 90 * time.Second},
		"streams by another address":    {"127.0.0.5", follows + "3/0 12", v1.ReplicaFollowing, 12 * time.Second},
		"the primary believes it":       {"127.0.0.2", waits + "2/FF000000 0", v1.ReplicaDisconnected, 0},
		"does not answer":               {"127.0.0.2", "", v1.ReplicaUnknown, 0},
		"has the oldest":                {"127.0.0.5", waits + "2/FE000000 0", v1.ReplicaDisconnected, 0},
		"needs an older one":            {"127.0.0.5", waits + "2/FDFFFFFF 0", v1.ReplicaLost, 0},
		"in an older log file":          {"127.0.0.5", waits + "1/FF000000 0", v1.ReplicaLost, 0},
		"has no position":               {"127.0.0.5", waits + "0/0 0", v1.ReplicaUnknown, 0},
		"promoted":                      {"127.0.0.5", "promoted waits 7449110000000000001 4 1/0 0", v1.ReplicaPromoted, 0},
		"promoted, of another database": {"127.0.0.5", "promoted waits 5 4 0/0 0", v1.ReplicaPromoted, 0},
		"of another database":           {"127.0.0.5", "recovers waits 7449110000000000002 3 1/0 0", v1.ReplicaDiverged, 0},
		"streams another database":      {"127.0.0.5", "recovers streams 7449110000000000002 3 3/0 0", v1.ReplicaDiverged, 0},
		"of a later timeline":           {"127.0.0.5", "recovers waits 7449110000000000001 4 1/0 0", v1.ReplicaDiverged, 0},
		"ahead":                         {"127.0.0.5", waits + "3/1001 0", v1.ReplicaDiverged, 0},
		"of an older timeline":          {"127.0.0.5", "recovers waits 7449110000000000001 2 2/FE000000 0", v1.ReplicaDisconnected, 0},
		"older timeline, needs more":    {"127.0.0.5", "recovers waits 7449110000000000001 2 1/0 0", v1.ReplicaDiverged, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var replica *Replica
			if tt.replica != "" {
				r, err := ParseReplica(tt.replica)
				if err != nil {
					t.Fatal(err)
				}
				replica = &r
			}
			if state, lag := primary.Decide(tt.address, replica); state != tt.state || lag != tt.lag {
				t.Errorf("%s %s, want %s %s", state, lag, tt.state, tt.lag)
			}
		})
	}
}

// FuzzParse checks that no replica is Lost unless the outputs of all pods can be read, whatever a member returns.
func FuzzParse(f *testing.F) {
	f.Add(observed, "recovers waits 7449110000000000001 3 0/4FFFFFF 0")
	f.Add("primary a 1 0/0\noldest x\nsegment -1\nreplica a b", "recovers")
	f.Fuzz(func(t *testing.T, primary, replica string) {
		p, err := ParsePrimary(primary)
		if err != nil {
			return
		}
		r, err := ParseReplica(replica)
		if err != nil {
			return
		}
		if state, lag := p.Decide("127.0.0.2", &r); lag < 0 || state == v1.ReplicaLost && (!r.recovers || r.system != p.system || r.position > p.position) {
			t.Errorf("%s %s", state, lag)
		}
	})
}

func TestParseFails(t *testing.T) {
	const identity, oldest, segment = "primary 5 1 0/5000000\n", "oldest 0000000300000002000000FE\n", "segment 16777216\n"
	for _, output := range []string{"", identity, identity + oldest, oldest + segment, identity + oldest + "segment 0\n", identity + "oldest 01\n" + segment,
		identity + "oldest zzzzzzzzzzzzzzzzzzzzzzzz\n" + segment, identity + oldest + segment + "replica a b\n",
		"primary 5 x 0/5000000\n" + oldest + segment, "primary 5 1 x\n" + oldest + segment} {
		if got, err := ParsePrimary(output); err == nil {
			t.Errorf("%q: %+v", output, got)
		}
	}
	for _, output := range []string{"", "recovers", "recovers waits 5 1 x/y 0", "recovers waits 5 1 0 0", "recovers waits 5 x 0/0 0", "recovers waits 5 1 0/0 x", "recovers waits 5 1 0/0"} {
		if got, err := ParseReplica(output); err == nil {
			t.Errorf("%q: %+v", output, got)
		}
	}
}

// TestCoarse checks that a lag that changes little around a limit of two steps changes nothing.
func TestCoarse(t *testing.T) {
	const none = -1
	for _, tt := range []struct{ lag, last, want int64 }{
		{9, none, 0}, {19, none, 10}, {119, none, 60}, {7140, none, 3600},
		{11, 0, 0}, {9, 10, 10}, {12, 0, 0}, {14, 0, 10}, {7, 10, 0},
		{58, 60, 60}, {62, 50, 50}, {70, 50, 50}, {80, 50, 60}, {3500, 3600, 3600}, {75, 0, 60}, {0, 60, 0},
	} {
		var last *int64
		if tt.last != none {
			last = &tt.last
		}
		if got := coarse(tt.lag, last); got != tt.want {
			t.Errorf("%d after %d: %d, want %d", tt.lag, tt.last, got, tt.want)
		}
	}
}
