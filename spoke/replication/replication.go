package replication

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// errNoSegment means that a primary did not print the size of WAL files.
var errNoSegment = errors.New("the primary reports no size of WAL files")

// Primary is an observation of a primary.
type Primary struct {
	// oldest is the number of the oldest WAL file, segment the size of a file in bytes.
	oldest, segment uint64
	// links are the replicas that are connected, by address.
	links map[string]link
}

// link is the connection of a replica.
type link struct {
	lag       time.Duration
	streaming bool
}

// Replica is an observation of a replica.
type Replica struct {
	// Recovers is false if the server is no replica: it was promoted.
	Recovers bool
	// position is the position up to which it has WAL.
	position uint64
}

// ParsePrimary reads the output of database.ObservePrimaryCommand, which comes from a member.
func ParsePrimary(output string) (Primary, error) {
	p := Primary{links: make(map[string]link)}
	oldest := ""
	for line := range strings.Lines(output) {
		var address, streaming string
		var seconds int64
		switch fields := strings.Fields(line); {
		case len(fields) == 2 && fields[0] == "oldest":
			oldest = fields[1]
		case len(fields) == 2 && fields[0] == "segment":
			p.segment, _ = strconv.ParseUint(fields[1], 10, 32) // Checked below.
		case len(fields) == 4 && fields[0] == "replica":
			if _, err := fmt.Sscan(strings.Join(fields[1:], " "), &address, &seconds, &streaming); err != nil {
				return Primary{}, fmt.Errorf("reading the line of a replica: %w", err)
			}
			p.links[address] = link{lag: time.Duration(max(seconds, 0)) * time.Second, streaming: streaming == "t"}
		}
	}
	if p.segment == 0 {
		return Primary{}, errNoSegment
	}
	var err error
	if p.oldest, err = segmentOf(oldest, p.segment); err != nil {
		return Primary{}, fmt.Errorf("reading the name of the oldest WAL file: %w", err)
	}
	return p, nil
}

// segmentOf returns the number of a WAL file: of 24 hexadecimal digits the first 8 are the
// timeline.
func segmentOf(name string, size uint64) (uint64, error) {
	if len(name) != 24 {
		return 0, fmt.Errorf("%d digits, want 24", len(name))
	}
	high, err := strconv.ParseUint(name[8:16], 16, 32)
	if err != nil {
		return 0, err
	}
	low, err := strconv.ParseUint(name[16:], 16, 32)
	if err != nil {
		return 0, err
	}
	return high*((1<<32)/size) + low, nil
}

// ParseReplica reads the output of database.ObserveReplicaCommand, which comes from a member.
func ParseReplica(output string) (Replica, error) {
	var word, recovers, position string
	if _, err := fmt.Sscan(output, &word, &recovers, &position); err != nil {
		return Replica{}, fmt.Errorf("reading the position of a replica: %w", err)
	}
	high, low, _ := strings.Cut(position, "/")
	h, err := strconv.ParseUint(high, 16, 32)
	if err != nil {
		return Replica{}, fmt.Errorf("reading position %q: %w", position, err)
	}
	l, err := strconv.ParseUint(low, 16, 32)
	if err != nil {
		return Replica{}, fmt.Errorf("reading position %q: %w", position, err)
	}
	return Replica{Recovers: recovers == "t", position: h<<32 | l}, nil
}

// Decide returns the state of the replica with an address. The replica is nil if it was not
// observed, as that of one that streams need not be.
func (p Primary) Decide(address string, replica *Replica) (state v1.ReplicaState, lag time.Duration) {
	l, connected := p.links[address]
	switch {
	case connected && l.streaming:
		return v1.ReplicaFollowing, l.lag
	case replica == nil || replica.position == 0:
		return v1.ReplicaUnknown, 0
	case !replica.Recovers:
		return v1.ReplicaPromoted, 0
	case replica.position/p.segment < p.oldest:
		return v1.ReplicaLost, 0
	default:
		return v1.ReplicaDisconnected, 0
	}
}

// Coarse rounds a lag down, so that a status changes only when the lag does considerably: below 10 s
// to 0, below a minute to 10 s, below an hour to minutes, and then to hours.
func Coarse(lag time.Duration) time.Duration {
	switch {
	case lag < 10*time.Second:
		return 0
	case lag < time.Minute:
		return lag.Truncate(10 * time.Second)
	case lag < time.Hour:
		return lag.Truncate(time.Minute)
	default:
		return lag.Truncate(time.Hour)
	}
}
