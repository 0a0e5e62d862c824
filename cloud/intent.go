package cloud

import "time"

// VisibilityWindow is how long a provider may not show what it has made.
const VisibilityWindow = 90 * time.Second

// Intent is what a caller writes down, where it outlives the process, before it asks a
// provider to make something:
//
//	if intent.MaySend(now) {
//		intent = intent.Sending(now) // and write it down
//		spec.MaySend = true
//	}
//	snapshot, err := connection.Snapshots.EnsureSnapshot(ctx, spec)
//	intent = intent.After(snapshot.State, err) // and write it down
//
// Whoever comes after a crash between the two writes only looks, until what was made
// must be visible.
type Intent struct {
	// Attempt counts from 0; it grows with each failure that came after acceptance.
	Attempt int
	// SentAt is when a request was about to be sent that was not refused; zero when
	// there is none. What it made may not be visible yet, even if the answer came.
	SentAt time.Time
	// Asking tells that Sending was called for the call that After is told about. It
	// is not written down: who reads an intent back knows of earlier requests alone.
	Asking bool
}

// MaySend tells whether a request may be sent.
func (i Intent) MaySend(now time.Time) bool {
	return i.SentAt.IsZero() || now.Sub(i.SentAt) >= VisibilityWindow
}

// Wait is how long until MaySend; 0 if it is already.
func (i Intent) Wait(now time.Time) time.Duration {
	if i.MaySend(now) {
		return 0
	}
	return VisibilityWindow - now.Sub(i.SentAt)
}

// Sending returns the intent to write down before a request is sent.
func (i Intent) Sending(now time.Time) Intent {
	i.SentAt, i.Asking = now, true
	return i
}

// After returns the intent after an answer. What failed after it had been accepted
// needs another attempt; what was refused did not happen. What was found, or may have
// happened, is not asked for again before it must be visible; nor is it after an error of
// a call that only looked, which says nothing about the request before it.
func (i Intent) After(state State, err error) Intent {
	asked := i.Asking
	i.Asking = false
	switch {
	case err == nil && state == StateFailed:
		return Intent{Attempt: i.Attempt + 1}
	case err == nil || !asked || ClassOf(err) == ClassAmbiguous || ClassOf(err) == "":
		return i
	default:
		return Intent{Attempt: i.Attempt}
	}
}
