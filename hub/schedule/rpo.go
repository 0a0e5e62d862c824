package schedule

import "time"

// Exposure is how much work would be lost if the data were lost now.
type Exposure struct {
	// Age is how old the newest good backup is, or the data itself if there is none; never negative.
	Age time.Duration
	// Never says that there is no good backup.
	Never bool
	// Future says that the newest good backup is later than now by more than
	// MaxClockSkew, so that its age is not known.
	Future bool
}

// RPO returns the exposure now. LastSuccess is when the newest good backup was cut,
// zero if there is none; since is when there was first something to back up.
func RPO(lastSuccess, since, now time.Time) Exposure {
	e := Exposure{Never: lastSuccess.IsZero()}
	if e.Never {
		lastSuccess = since
	}
	e.Age = max(now.Sub(lastSuccess), 0)
	e.Future = lastSuccess.After(now.Add(MaxClockSkew))
	return e
}

// AtRisk tells whether more would be lost than may be, or nobody knows how much. A
// bound of 0 or less is none. Without any backup the bound holds from the time at
// which there was something to back up, so that a new application is not at risk.
func (e Exposure) AtRisk(maxRPO time.Duration) bool {
	return maxRPO > 0 && (e.Future || e.Age > maxRPO)
}
