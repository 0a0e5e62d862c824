package conditions

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Claims knows which cluster is registered under which name. Its methods may be
// called at the same time.
type Claims struct {
	hub string

	mu      sync.Mutex
	members map[string]claim
}

// NewClaims makes an empty registry for a hub whose own cluster has the UID.
func NewClaims(hubUID string) *Claims {
	return &Claims{hub: hubUID, members: map[string]claim{}}
}

type claim struct {
	// pinned is the UID that the name was first registered with, if any.
	pinned string
	// seen is the UID that was admitted in this process, if any.
	seen  string
	since time.Time
}

func (c claim) holds(uid string) bool { return c.pinned == uid || c.seen == uid }

// Pin says which UID belongs to a name; empty if none does yet.
func (c *Claims) Pin(name, uid string, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := c.members[name]
	mine.pinned = cmp.Or(uid, mine.pinned)
	mine.since = since
	c.members[name] = mine
}

// Forget gives up what a name stands for.
func (c *Claims) Forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.members, name)
}

// Admit decides whether the cluster with the UID may be the member of the name, and
// keeps the UID for it if so. The context is that of the member: once it has ended,
// nothing is kept, because the name may belong to a new registration.
func (c *Claims) Admit(ctx context.Context, name, uid string) *Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := c.members[name]
	if uid == c.hub {
		return &Failure{StepIdentity, v1.ReasonHubItself,
			"the kubeconfig leads to the hub's own cluster: a hub is no member of itself"}
	}
	if first := cmp.Or(mine.pinned, mine.seen); first != "" && first != uid {
		return &Failure{StepIdentity, v1.ReasonClusterIdentityChanged,
			"the kubeconfig leads to another cluster than the one that was registered under this name: " +
				"delete the MemberCluster and register it again if that is meant"}
	}
	for other, theirs := range c.members {
		if other != name && theirs.holds(uid) && precedes(uid, theirs, mine, other < name) {
			return &Failure{StepIdentity, v1.ReasonDuplicateCluster,
				fmt.Sprintf("the kubeconfig leads to the cluster that is registered as %q already: remove one of the two registrations", c.first(uid, name))}
		}
	}
	if ctx.Err() == nil {
		mine.seen = uid
		c.members[name] = mine
	}
	return nil
}

// first returns the name that the UID belongs to, beside the one that asks.
func (c *Claims) first(uid, name string) string {
	best := ""
	for other, theirs := range c.members {
		if other != name && theirs.holds(uid) && (best == "" || precedes(uid, theirs, c.members[best], other < best)) {
			best = other
		}
	}
	return best
}

// precedes tells whether a has the better right to the UID than b: a pin, then the
// earlier registration, then the name.
func precedes(uid string, a, b claim, nameFirst bool) bool {
	if pinnedA, pinnedB := a.pinned == uid, b.pinned == uid; pinnedA != pinnedB {
		return pinnedA
	}
	if order := a.since.Compare(b.since); order != 0 {
		return order < 0
	}
	return nameFirst
}
