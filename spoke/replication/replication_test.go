package replication

import (
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const observed = `oldest 0000000300000002000000FE
segment 16777216
replica 127.0.0.2 0 t
replica 127.0.0.3 75 t
replica 127.0.0.4 75 f
`

func TestDecide(t *testing.T) {
	primary, err := ParsePrimary(observed)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		address, replica string
		state            v1.ReplicaState
		lag              time.Duration
	}{
		"streams":                {address: "127.0.0.2", state: v1.ReplicaFollowing},
		"is behind":              {address: "127.0.0.3", state: v1.ReplicaFollowing, lag: 75 * time.Second},
		"connected, no stream":   {address: "127.0.0.4", replica: "recovers t 2/FF000000", state: v1.ReplicaDisconnected},
		"not observed":           {address: "127.0.0.5", state: v1.ReplicaUnknown},
		"has the oldest":         {address: "127.0.0.5", replica: "recovers t 2/FE000000", state: v1.ReplicaDisconnected},
		"needs an older one":     {address: "127.0.0.5", replica: "recovers t 2/FDFFFFFF", state: v1.ReplicaLost},
		"in an older log file":   {address: "127.0.0.5", replica: "recovers t 1/FF000000", state: v1.ReplicaLost},
		"promoted":               {address: "127.0.0.5", replica: "recovers f 1/FF000000", state: v1.ReplicaPromoted},
		"has no position":        {address: "127.0.0.5", replica: "recovers t 0/0", state: v1.ReplicaUnknown},
		"streams, whatever else": {address: "127.0.0.2", replica: "recovers t 1/0", state: v1.ReplicaFollowing},
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

// Outputs come from a member: nothing in them may be lost on a replica that follows.
func FuzzParse(f *testing.F) {
	f.Add(observed)
	f.Add("recovers t 0/4FFFFFF")
	f.Add("oldest x\nsegment -1\nreplica a b c")
	f.Fuzz(func(t *testing.T, output string) {
		primary, err := ParsePrimary(output)
		if err != nil {
			return
		}
		replica, err := ParseReplica(output)
		if state, lag := primary.Decide("127.0.0.2", &replica); lag < 0 || err != nil && state == v1.ReplicaLost && replica.position == 0 {
			t.Errorf("%s %s", state, lag)
		}
	})
}

func TestParseFails(t *testing.T) {
	for _, output := range []string{"", "oldest 01\nsegment 16777216", "oldest 0000000300000002000000FE", "oldest 0000000300000002000000FE\nsegment 0",
		"oldest zzzzzzzzzzzzzzzzzzzzzzzz\nsegment 16777216", "segment 16777216\noldest 0000000300000002000000FE\nreplica a b c"} {
		if got, err := ParsePrimary(output); err == nil {
			t.Errorf("%q: %+v", output, got)
		}
	}
	for _, output := range []string{"", "recovers", "recovers t x/y", "recovers t 0"} {
		if got, err := ParseReplica(output); err == nil {
			t.Errorf("%q: %+v", output, got)
		}
	}
}

func TestCoarse(t *testing.T) {
	for lag, want := range map[time.Duration]time.Duration{
		9 * time.Second: 0, 19 * time.Second: 10 * time.Second, 119 * time.Second: time.Minute, 119 * time.Minute: time.Hour,
	} {
		if got := Coarse(lag); got != want {
			t.Errorf("%s: %s, want %s", lag, got, want)
		}
	}
}
