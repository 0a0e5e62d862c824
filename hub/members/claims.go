package members

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/health"
)

// claims records which cluster is registered under which name. It is safe for concurrent
// use.
type claims struct {
	hub string

	mu      sync.Mutex
	members map[string]claim
}

// newClaims returns an empty registry for a hub whose own cluster has the given UID.
func newClaims(hubUID string) *claims {
	return &claims{hub: hubUID, members: map[string]claim{}}
}

// claim is the registration of one name.
type claim struct {
	// pinned is the UID that was recorded at the first registration; empty if unknown.
	pinned string
	// seen is the UID that was admitted since the hub started; empty if none was.
	seen  string
	since time.Time
}

func (c claim) holds(uid string) bool { return c.pinned == uid || c.seen == uid }

// Pin records the UID and the registration time of a name. An empty UID keeps the
// recorded one.
func (c *claims) Pin(name, uid string, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := c.members[name]
	mine.pinned = cmp.Or(uid, mine.pinned)
	mine.since = since
	c.members[name] = mine
}

// Forget removes the registration of a name, and reports whether there was one.
func (c *claims) Forget(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, registered := c.members[name]
	delete(c.members, name)
	return registered
}

// Admit returns nil if the cluster with the given UID may be connected under the name,
// and records the UID. Otherwise it returns the reason. Nothing is recorded once ctx, the
// context of the member, is done, because the name may then belong to a new registration.
func (c *claims) Admit(ctx context.Context, name, uid string) *health.Failure {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := c.members[name]
	if uid == c.hub {
		return &health.Failure{Step: health.StepIdentity, Reason: v1.ReasonHubItself,
			Message: "the kubeconfig is for the hub's own cluster, which cannot be a member: register another cluster"}
	}
	if first := cmp.Or(mine.pinned, mine.seen); first != "" && first != uid {
		return &health.Failure{Step: health.StepIdentity, Reason: v1.ReasonClusterIdentityChanged,
			Message: "the kubeconfig is for another cluster than the one registered under this name: " +
				"to replace the cluster, delete the MemberCluster and register it again"}
	}
	if owner := c.owner(uid, name); owner != name {
		return &health.Failure{Step: health.StepIdentity, Reason: v1.ReasonDuplicateCluster,
			Message: fmt.Sprintf("the cluster is already registered as %q: remove one of the two registrations", owner)}
	}
	if ctx.Err() == nil {
		mine.seen = uid
		c.members[name] = mine
	}
	return nil
}

// owner returns the name to which the UID belongs, of the given one and those that hold it.
func (c *claims) owner(uid, name string) string {
	best := name
	for other, theirs := range c.members {
		if theirs.holds(uid) && c.compare(uid, other, best) < 0 {
			best = other
		}
	}
	return best
}

// compare returns a negative number if name a takes precedence over b for the UID: a pinned UID
// first, then the earlier registration, then the name.
func (c *claims) compare(uid, a, b string) int {
	unpinned := func(name string) int {
		if c.members[name].pinned == uid {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(unpinned(a), unpinned(b)), c.members[a].since.Compare(c.members[b].since), cmp.Compare(a, b))
}
