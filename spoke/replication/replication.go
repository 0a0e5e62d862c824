package replication

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// errIncomplete means that an output lacks a line or a field.
var errIncomplete = errors.New("the server does not report all that is needed")

// Primary is an observation of a primary.
type Primary struct {
	history
	// oldest is the number of the oldest WAL file, segment the size of a file in bytes.
	oldest, segment uint64
	// lags has the lag of each connected replica, by its address.
	lags map[string]time.Duration
}

// Replica is an observation of a replica.
type Replica struct {
	history
	// recovers is false if the server was promoted, streams is true if it receives changes.
	recovers, streams bool
	// lag is the time for which it has not applied what it has.
	lag time.Duration
}

// history says what a server has: the WAL of a database and of a timeline, up to a position.
type history struct {
	system   string
	timeline uint64
	position uint64
}

// ParsePrimary reads the output of database.ObservePrimaryCommand, which comes from a member.
func ParsePrimary(output string) (Primary, error) {
	p := Primary{lags: make(map[string]time.Duration)}
	oldest := ""
	var err error
	for line := range strings.Lines(output) {
		switch fields := strings.Fields(line); {
		case len(fields) == 4 && fields[0] == "primary":
			if p.history, err = parseHistory(fields[1:]); err != nil {
				return Primary{}, fmt.Errorf("reading the line of the primary: %w", err)
			}
		case len(fields) == 2 && fields[0] == "oldest":
			oldest = fields[1]
		case len(fields) == 2 && fields[0] == "segment":
			p.segment, _ = strconv.ParseUint(fields[1], 10, 32) // Checked below.
		case len(fields) == 3 && fields[0] == "replica":
			if p.lags[fields[1]], err = parseSeconds(fields[2]); err != nil {
				return Primary{}, fmt.Errorf("reading the line of a replica: %w", err)
			}
		}
	}
	if p.segment == 0 || p.system == "" {
		return Primary{}, errIncomplete
	}
	if p.oldest, err = segmentOf(oldest, p.segment); err != nil {
		return Primary{}, fmt.Errorf("reading the name of the oldest WAL file: %w", err)
	}
	return p, nil
}

// parseHistory reads a system identifier, a timeline and a position.
func parseHistory(fields []string) (history, error) {
	timeline, err := strconv.ParseUint(fields[1], 10, 32)
	if err != nil {
		return history{}, fmt.Errorf("reading timeline %q: %w", fields[1], err)
	}
	high, low, _ := strings.Cut(fields[2], "/")
	h, err := strconv.ParseUint(high, 16, 32)
	if err != nil {
		return history{}, fmt.Errorf("reading position %q: %w", fields[2], err)
	}
	l, err := strconv.ParseUint(low, 16, 32)
	if err != nil {
		return history{}, fmt.Errorf("reading position %q: %w", fields[2], err)
	}
	return history{system: fields[0], timeline: timeline, position: h<<32 | l}, nil
}

func parseSeconds(text string) (time.Duration, error) {
	seconds, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("reading a number of seconds: %w", err)
	}
	return time.Duration(max(seconds, 0)) * time.Second, nil
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
	fields := strings.Fields(output)
	if len(fields) != 6 || fields[0] != "recovers" && fields[0] != "promoted" {
		return Replica{}, errIncomplete
	}
	known, err := parseHistory(fields[2:5])
	if err != nil {
		return Replica{}, err
	}
	lag, err := parseSeconds(fields[5])
	if err != nil {
		return Replica{}, err
	}
	return Replica{history: known, recovers: fields[0] == "recovers", streams: fields[1] == "streams", lag: lag}, nil
}

// Decide returns the state of the replica with an address, and how far it is behind. The replica is
// nil if it did not answer. It must have been observed before the primary, which thus has all that it
// had sent.
func (p Primary) Decide(address string, replica *Replica) (state v1.ReplicaState, lag time.Duration) {
	switch {
	case replica == nil:
		return v1.ReplicaUnknown, 0
	case !replica.recovers:
		return v1.ReplicaPromoted, 0
	case replica.system != p.system:
		return v1.ReplicaDiverged, 0
	case replica.streams:
		return v1.ReplicaFollowing, max(replica.lag, p.lags[address])
	case replica.timeline > p.timeline || replica.position > p.position:
		return v1.ReplicaDiverged, 0
	case replica.position == 0:
		return v1.ReplicaUnknown, 0
	case replica.position/p.segment >= p.oldest:
		return v1.ReplicaDisconnected, 0
	case replica.timeline < p.timeline:
		// The primary may have left the timeline before that position.
		return v1.ReplicaDiverged, 0
	default:
		return v1.ReplicaLost, 0
	}
}

// coarse rounds the seconds of a lag down: below 10 to 0, below a minute to tens, below an hour to
// minutes, and then to hours. It returns the last result as long as that is within a quarter of the
// lag, so that a status changes only when the lag does considerably.
func coarse(lag int64, last *int64) int64 {
	if last != nil && rounded(lag-lag/4) <= *last && *last <= rounded(lag+lag/4) {
		return *last
	}
	return rounded(lag)
}

func rounded(lag int64) int64 {
	const minute, hour = 60, 3600
	switch {
	case lag < 10:
		return 0
	case lag < minute:
		return lag - lag%10
	case lag < hour:
		return lag - lag%minute
	default:
		return lag - lag%hour
	}
}
