package join

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watchuntil"
	"github.com/shopfleet/shopfleet/config"
)

// Why a wait ended early.
var (
	// ErrNotReady is returned if a member does not become ready in time.
	ErrNotReady = errors.New("not ready")
	// ErrNotGone is returned if the hub does not remove its finalizer in time.
	ErrNotGone = errors.New("the hub has not removed its finalizer")
)

// Waiting is a wait for one member.
type Waiting struct {
	// Query watches the hub. List and Options are set here.
	Query watchuntil.Query
	Name  string
	// Mode is the one to which the hub should have switched; empty is any.
	Mode v1.Mode
	// At is the endpoint to which the hub connects.
	At Endpoint
	// Report receives each new state of the member.
	Report func(metav1.Condition)
}

// only restricts the query to the member.
func (w Waiting) only() watchuntil.Query {
	q := w.Query
	q.List = &v1.MemberClusterList{}
	q.Options = []client.ListOption{client.MatchingFields{"metadata.name": w.Name}}
	return q
}

// Ready blocks until the member is ready, and returns it. After the deadline of ctx it
// returns ErrNotReady with the last state.
func (w Waiting) Ready(ctx context.Context) (*v1.MemberCluster, error) {
	var member *v1.MemberCluster
	var last metav1.Condition
	err := w.only().Run(ctx, func(objects []client.Object) (bool, error) {
		if len(objects) == 0 {
			return false, nil
		}
		found, ok := objects[0].(*v1.MemberCluster)
		if !ok {
			return false, nil
		}
		member = found
		now := w.state(found)
		if now.Reason != last.Reason || now.Message != last.Message {
			last = now
			w.Report(now)
		}
		return now.Status == metav1.ConditionTrue, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, w.notReady(member, last)
	}
	return member, err
}

// reasonSwitching is the reason of a state for which the hub has no condition.
const reasonSwitching = "Switching"

// state returns the Ready condition, except during a rotation of credentials and a switch
// of the mode: the hub keeps using the old ones until the new ones work, so that the
// member is ready, but not as requested.
func (w Waiting) state(member *v1.MemberCluster) metav1.Condition {
	ready := printers.Readiness(member)
	if ready.Status != metav1.ConditionTrue {
		return ready
	}
	for _, kind := range []string{v1.ConditionCredentialsValid, v1.ConditionAuthorized, v1.ConditionAgentReady} {
		if c := meta.FindStatusCondition(member.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionFalse {
			return *c
		}
	}
	agent := meta.FindStatusCondition(member.Status.Conditions, v1.ConditionAgentReady)
	if w.Mode != "" && (agent != nil) != (w.Mode == v1.ModeAgent) {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonSwitching, Message: "the hub has not yet switched to mode " + string(w.Mode)}
	}
	return ready
}

func (w Waiting) notReady(member *v1.MemberCluster, last metav1.Condition) error {
	if member == nil {
		return hint.With(fmt.Errorf("waiting for MemberCluster %q: %w: the hub has not created it", w.Name, ErrNotReady),
			"Check that the hub runs in this cluster, with this Namespace for registrations. The registration stays, and takes effect when the hub runs.")
	}
	if last.Message == "" {
		return hint.With(fmt.Errorf("waiting for MemberCluster %q: %w: %s", w.Name, ErrNotReady, last.Reason), w.remedy(last.Reason))
	}
	return hint.With(fmt.Errorf("waiting for MemberCluster %q: %w: %s: %s", w.Name, ErrNotReady, last.Reason, last.Message), w.remedy(last.Reason))
}

// remedy returns the hint for the reason why a member is not ready.
func (w Waiting) remedy(reason string) string {
	const again = " The registration stays, and the hub retries. Watch it: kubectl get memberclusters -w"
	switch reason {
	case v1.ReasonConnecting, v1.ReasonProbeFailed, v1.ReasonClusterUnreachable:
		if w.At.Loopback() {
			return "The hub cannot reach " + w.At.Server + ", which for the hub is its own host. " +
				"Set an address that it can reach with --member-server." + again
		}
		return "The hub cannot reach " + w.At.Server + " from its network. Allow the connection, or set another address with --member-server." + again
	case v1.ReasonCertificateInvalid:
		return "The certificate of " + w.At.Server + " is not signed by the CA in the kubeconfig of the member, or not valid for this address."
	case v1.ReasonUnauthorized, v1.ReasonExpired:
		return "The member rejects the token. Run the same command again for a new one."
	case v1.ReasonPermissionsMissing:
		return "The hub lacks the permission in the message. Run the same command again, which applies it, or see config/rbac/member."
	case v1.ReasonHubItself, v1.ReasonManagedByAnotherHub, v1.ReasonDuplicateCluster, v1.ReasonClusterIdentityChanged:
		return "Undo it: kubectl shopfleet unjoin " + w.Name + ". Then join the right cluster."
	case v1.ReasonAgentMissing, v1.ReasonAgentSilent:
		return "See the pods of the agent, on the member: kubectl get pods -n " + config.Namespace +
			" -l app.kubernetes.io/name=" + config.SpokeServiceAccount + ". What runs there is not affected." + again
	case v1.ReasonNotChecked:
		return "The hub has not connected yet. Check that it runs in this cluster. The registration stays."
	}
	return "See why: kubectl describe membercluster " + w.Name + "." + again
}

// Gone blocks until the MemberCluster is gone. After the deadline of ctx it returns
// ErrNotGone.
func (w Waiting) Gone(ctx context.Context) error {
	err := w.only().Run(ctx, func(objects []client.Object) (bool, error) { return len(objects) == 0, nil })
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.With(fmt.Errorf("waiting for MemberCluster %q to be gone: %w", w.Name, ErrNotGone),
			"Check that the hub runs in this cluster. It removes the finalizer as soon as it runs; you need not do anything else.")
	}
	return err
}
