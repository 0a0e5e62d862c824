package retention

import "time"

// Exposure describes how much data would be lost if the data were lost now.
type Exposure struct {
	// Age is the age of the newest successful backup, or of the data if there is none;
	// never negative.
	Age time.Duration
	// Never is true if there is no successful backup.
	Never bool
	// Future is true if the newest successful backup is later than now by more than
	// MaxClockSkew, so that its age is unknown.
	Future bool
}

// RPO returns the exposure at now. LastSuccess is the snapshot time of the newest
// successful backup, zero if there is none; since is when there was first something to
// back up.
func RPO(lastSuccess, since, now time.Time) Exposure {
	e := Exposure{Never: lastSuccess.IsZero()}
	if e.Never {
		lastSuccess = since
	}
	e.Age = max(now.Sub(lastSuccess), 0)
	e.Future = lastSuccess.After(now.Add(MaxClockSkew))
	return e
}

// AtRisk reports whether the exposure exceeds maxRPO or is unknown. A maxRPO of 0 or less
// disables the check. Without any backup, the age counts from the time at which there was
// something to back up, so that a new application is not at risk.
func (e Exposure) AtRisk(maxRPO time.Duration) bool {
	return maxRPO > 0 && (e.Future || e.Age > maxRPO)
}
