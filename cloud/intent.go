package cloud

import "time"

// VisibilityWindow is the maximum time until a provider shows an object that it created.
const VisibilityWindow = 90 * time.Second

// Intent records that a caller is about to request the creation of an object. The caller
// persists it before the request and after the response:
//
//	if intent.MaySend(now) {
//		intent = intent.Sending(now) // persist it
//		spec.MaySend = true
//	}
//	snapshot, err := connection.Snapshots.EnsureSnapshot(ctx, spec)
//	intent = intent.After(snapshot.State, err) // persist it
//
// After a crash between the two writes, the next caller only looks for the object until it
// must have become visible. An Intent is a value; its methods return changed copies.
type Intent struct {
	// Attempt counts, from 0, the failures of requests that the provider had accepted.
	Attempt int
	// SentAt is the time of the last request that was not refused, or zero. The object may
	// not be visible yet, even if a response was received.
	SentAt time.Time
	// Asking is set by Sending for the call whose result After receives. It is not
	// persisted: an Intent that is read back describes earlier requests only.
	Asking bool
}

// MaySend reports whether a request may be sent.
func (i Intent) MaySend(now time.Time) bool {
	return i.SentAt.IsZero() || now.Sub(i.SentAt) >= VisibilityWindow
}

// Wait returns the time until MaySend reports true, 0 if it already does.
func (i Intent) Wait(now time.Time) time.Duration {
	if i.MaySend(now) {
		return 0
	}
	return VisibilityWindow - now.Sub(i.SentAt)
}

// Sending returns the intent to persist before a request is sent.
func (i Intent) Sending(now time.Time) Intent {
	i.SentAt, i.Asking = now, true
	return i
}

// After returns the intent to persist after a call. A request that failed after it was accepted
// needs another attempt; a request that was refused had no effect. If the object was found, or
// may have been created, it is not requested again before it must be visible. The same holds
// after an error of a call that only looked, because it says nothing about the earlier request.
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
