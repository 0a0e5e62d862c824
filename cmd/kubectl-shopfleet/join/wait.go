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
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watch"
	"github.com/shopfleet/shopfleet/config"
)

// Why a wait ended without what was waited for.
var (
	// ErrNotReady tells that a member did not become ready in time.
	ErrNotReady = errors.New("not ready")
	// ErrNotGone tells that a member was not let go in time.
	ErrNotGone = errors.New("the hub has not let go of it")
)

// Waiting is a wait for one member.
type Waiting struct {
	// Query follows MemberClusters; what to list is filled in.
	Query watch.Query
	Name  string
	// Mode is the one that the hub should have taken; empty is any.
	Mode v1.Mode
	// At is where the hub was told to connect to.
	At Endpoint
	// Report is told each new state of the member.
	Report func(metav1.Condition)
}

// only narrows the query to the member.
func (w Waiting) only() watch.Query {
	q := w.Query
	q.List = &v1.MemberClusterList{}
	q.Options = []client.ListOption{client.MatchingFields{"metadata.name": w.Name}}
	return q
}

// Ready waits until the hub reports the member ready, and returns it. A context
// that ends with a deadline gives ErrNotReady with what is known.
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

// reasonSwitching is the reason of a state that the hub has no condition for.
const reasonSwitching = "Switching"

// state is the Ready condition, but for a rotation and a switch of the mode: while the
// hub holds on to what was before, because what is new is no good, the member is ready
// and not what was asked for.
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
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonSwitching, Message: "the hub has yet to take the mode " + string(w.Mode)}
	}
	return ready
}

func (w Waiting) notReady(member *v1.MemberCluster, last metav1.Condition) error {
	if member == nil {
		return hint.With(fmt.Errorf("member %q: %w: the hub made no MemberCluster", w.Name, ErrNotReady),
			"Is cmd/hub running, on this cluster and with this --namespace? The registration stays: it is taken up when the hub runs.")
	}
	if last.Message == "" {
		return hint.With(fmt.Errorf("member %q: %w: %s", w.Name, ErrNotReady, last.Reason), w.remedy(last.Reason))
	}
	return hint.With(fmt.Errorf("member %q: %w: %s: %s", w.Name, ErrNotReady, last.Reason, last.Message), w.remedy(last.Reason))
}

// remedy says what to do about a member that is not ready for a reason.
func (w Waiting) remedy(reason string) string {
	const again = " The registration stays, and the hub goes on trying: kubectl shopfleet clusters -w"
	switch reason {
	case v1.ReasonConnecting, v1.ReasonProbeFailed, v1.ReasonClusterUnreachable:
		if w.At.Loopback() {
			return "The hub cannot reach " + w.At.Server + ", which means the hub's own machine to it: " +
				"give the address that it can reach with --member-server." + again
		}
		return "The hub cannot reach " + w.At.Server + " from where it runs: open the way, or give another address with --member-server." + again
	case v1.ReasonCertificateInvalid:
		return "The certificate of " + w.At.Server + " is not from the CA in the member's kubeconfig, or not for this address."
	case v1.ReasonUnauthorized, v1.ReasonExpired:
		return "The member refuses the token: run the same command again for a new one."
	case v1.ReasonPermissionsMissing:
		return "The member's role lacks what the message names: run the same command again, which applies it, or see config/rbac/member."
	case v1.ReasonHubItself, v1.ReasonDuplicateCluster, v1.ReasonClusterIdentityChanged:
		return "Undo it, and join the right cluster: kubectl shopfleet unjoin " + w.Name
	case v1.ReasonAgentMissing, v1.ReasonAgentSilent:
		return "See what becomes of the agent, on the member: kubectl get pods -n " + config.Namespace +
			" -l app.kubernetes.io/name=" + config.SpokeServiceAccount + ". What ran there goes on as before." + again
	case v1.ReasonNotChecked:
		return "The hub has not looked at it: is cmd/hub running on this cluster? The registration stays."
	}
	return "See more: kubectl describe membercluster " + w.Name + "." + again
}

// Gone waits until the hub has let go of the member. A context that ends with a
// deadline gives ErrNotGone.
func (w Waiting) Gone(ctx context.Context) error {
	err := w.only().Run(ctx, func(objects []client.Object) (bool, error) { return len(objects) == 0, nil })
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.With(fmt.Errorf("member %q: %w", w.Name, ErrNotGone),
			"Is cmd/hub running? Its finalizer on the MemberCluster goes as soon as it runs; nothing else is needed.")
	}
	return err
}
