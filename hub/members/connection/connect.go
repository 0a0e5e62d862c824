package connection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/conditions"
	"github.com/shopfleet/shopfleet/hub/members/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/preflight"
	"github.com/shopfleet/shopfleet/hub/members/transport"
)

const (
	// listening bounds the wait for an agent that should take over; listenPeriod is the
	// time between looks at it. It renews its Lease every two seconds.
	listening    = 8 * time.Second
	listenPeriod = 500 * time.Millisecond
)

// Attempt is one try to connect a member with one kubeconfig.
type Attempt struct {
	Settings *Settings
	// Name is the member's, for logs.
	Name string
	// Access is how the cluster is reached.
	Access *kubeconfig.Access
	// Mode is the one that the member is to be in.
	Mode v1.Mode
	// Heard tells that the agent must be heard before the attempt succeeds: until then
	// somebody else has the member's copies.
	Heard bool
	// Pulse is what is known of the agent.
	Lease conditions.LeaseMonitor
	// Probes must succeed in a row, a Period apart.
	Probes int
	Period time.Duration
	// Admit decides whether the cluster with the UID may be the member.
	Admit func(uid string) *conditions.Failure
	// Indexes are made before the caches are filled.
	Indexes []Index
	// NodesChanged is called when nodes changed, from then on until the session ends. It
	// must not wait.
	NodesChanged func()
	// Unserved is called when the cluster says of a kind that is watched that there is
	// none, again and again while it does. It must not wait.
	Unserved func()
}

// Connected is what a successful attempt found.
type Connected struct {
	Session *Connection
	// UID is that of the namespace kube-system.
	UID string
	Inspection
	Nodes preflight.NodeFacts
	// Pulse is that of the agent, in mode Agent.
	Lease conditions.LeaseMonitor
}

// Inspection is what is checked again and again while a member is engaged.
type Inspection struct {
	// Missing are the permissions that the credentials lack.
	Missing []authorizationv1.ResourceAttributes
	Server  preflight.ServerFacts
	// Definitions are those that the cluster lost or is losing.
	Definitions preflight.DefinitionFacts
}

// Blocked tells whether a permission to read is missing, so that informers do not sync.
func (i *Inspection) Blocked() bool { return slices.ContainsFunc(i.Missing, preflight.Reads) }

// Connect does the attempt. The session lives as long as the member's context, also
// when the one of the attempt ends. Without a failure there is a session to engage or
// to cancel.
func (a *Attempt) Connect(ctx, member context.Context) (*Connected, *conditions.Failure) {
	l, err := transport.Open(a.Access.Config, a.Settings.Timeouts.link())
	if err != nil {
		return nil, a.fail(conditions.StepKubeconfig, v1.ReasonKubeconfigInvalid, "no connection can be made of the kubeconfig", err)
	}
	result, f := a.check(ctx, l)
	if f != nil {
		l.Close()
		return nil, f
	}
	result.Session, err = a.Settings.open(member, a, l)
	if err != nil {
		l.Close()
		return nil, a.unreached(conditions.StepSetup, err)
	}
	if f := a.fill(ctx, result); f != nil {
		result.Session.Close()
		<-result.Session.Ended()
		return nil, f
	}
	return result, nil
}

// check does what needs no informers.
func (a *Attempt) check(ctx context.Context, l *transport.Transport) (*Connected, *conditions.Failure) {
	uid, err := a.probe(ctx, l)
	if err != nil {
		return nil, explainProbe(a.Access, a.Settings.Clock.Now(), err)
	}
	if f := a.Admit(uid); f != nil {
		return nil, f
	}
	found, err := a.Settings.inspect(ctx, l, a.Mode)
	if err != nil {
		return nil, a.unreached(conditions.StepPermissions, err)
	}
	if found.Blocked() {
		return nil, conditions.PermissionsMissing(found.Missing)
	}
	if found.Definitions, err = a.prepare(ctx, l); err != nil {
		if len(found.Missing) > 0 && apierrors.IsForbidden(err) {
			return nil, conditions.PermissionsMissing(found.Missing)
		}
		return nil, a.unreached(conditions.StepSetup, err)
	}
	if len(found.Definitions.Absent) > 0 {
		return nil, conditions.DefinitionsMissing(a.Mode, found.Definitions.Absent)
	}
	result := &Connected{UID: uid, Inspection: *found}
	if f := a.listen(ctx, l, result); f != nil {
		return nil, f
	}
	return result, nil
}

// listen looks at the agent, once or until it is heard.
func (a *Attempt) listen(ctx context.Context, l *transport.Transport, result *Connected) *conditions.Failure {
	if a.Mode != v1.ModeAgent {
		return nil
	}
	began := a.Settings.Clock.Now()
	result.Lease = a.Lease.Resume(began)
	for {
		sign, err := a.Settings.sampleLease(ctx, l)
		if err != nil {
			return a.unreached(conditions.StepSetup, err)
		}
		now := a.Settings.Clock.Now()
		heard := result.Lease.Heard
		result.Lease = result.Lease.After(sign, now)
		switch {
		case !a.Heard, result.Lease.Heard.After(heard):
			return nil
		case !sign.Present, now.Sub(began) >= listening:
			return conditions.AgentSilent(result.Lease)
		}
		if err := a.pause(ctx, listenPeriod); err != nil {
			return a.unreached(conditions.StepSetup, err)
		}
	}
}

// pause waits, or returns the error of a context that ended.
func (a *Attempt) pause(ctx context.Context, d time.Duration) error {
	timer := a.Settings.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// probe asks as often as it must succeed.
func (a *Attempt) probe(ctx context.Context, l *transport.Transport) (string, error) {
	for n := 1; ; n++ {
		uid, err := l.Probe(ctx)
		if err != nil || n >= a.Probes {
			return uid, err
		}
		if err := a.pause(ctx, a.Period); err != nil {
			return "", err
		}
	}
}

func (a *Attempt) prepare(ctx context.Context, l *transport.Transport) (preflight.DefinitionFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Settings.Timeouts.Prepare)
	defer cancel()
	direct, err := client.New(l.Config(), client.Options{HTTPClient: l.Client(), Scheme: a.Settings.Scheme})
	if err != nil {
		return preflight.DefinitionFacts{}, fmt.Errorf("making a client: %w", err)
	}
	if a.Mode == v1.ModeAgent {
		return a.Settings.Agent.Prepare.Verify(ctx, direct)
	}
	return a.Settings.Agentless.Prepare.Install(ctx, direct)
}

// fill waits for the caches and reads from them.
func (a *Attempt) fill(ctx context.Context, result *Connected) *conditions.Failure {
	ctx, cancel := context.WithTimeout(ctx, a.Settings.Timeouts.Sync)
	defer cancel()
	s := result.Session
	if err := s.sync(ctx, a.Settings.profile(a.Mode).Watched(), a.Indexes); err != nil {
		return a.unreached(conditions.StepSetup, err)
	}
	if err := s.onNodes(ctx, a.NodesChanged); err != nil {
		return a.unreached(conditions.StepSetup, err)
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return a.unreached(conditions.StepSetup, err)
	}
	result.Nodes = nodes
	return nil
}

// inspect asks what a cluster allows and offers.
func (o *Settings) inspect(ctx context.Context, l *transport.Transport, mode v1.Mode) (*Inspection, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeouts.Review)
	defer cancel()
	authorization, err := authorizationv1client.NewForConfigAndClient(l.Config(), l.Client())
	if err != nil {
		return nil, fmt.Errorf("making a client for reviews: %w", err)
	}
	networking, err := networkingv1client.NewForConfigAndClient(l.Config(), l.Client())
	if err != nil {
		return nil, fmt.Errorf("making a client for ingress classes: %w", err)
	}
	storage, err := storagev1client.NewForConfigAndClient(l.Config(), l.Client())
	if err != nil {
		return nil, fmt.Errorf("making a client for CSI drivers: %w", err)
	}
	found := &Inspection{}
	if found.Missing, err = preflight.Missing(ctx, authorization, o.profile(mode).Permissions); err != nil {
		return nil, err
	}
	if found.Server, err = preflight.Discover(ctx, networking.RESTClient(), networking, storage); err != nil {
		return nil, err
	}
	return found, nil
}

// explainProbe says why a probe failed.
func explainProbe(access *kubeconfig.Access, now time.Time, err error) *conditions.Failure {
	fault := transport.Classify(err)
	if fault.Reason == v1.ReasonUnauthorized && !access.ExpiresAt.IsZero() && now.After(access.ExpiresAt) {
		return &conditions.Failure{Step: conditions.StepReach, Reason: v1.ReasonExpired, Message: "the credentials of the kubeconfig have expired: renew them in the registration Secret"}
	}
	return &conditions.Failure{Step: conditions.StepReach, Reason: fault.Reason, Message: fault.Message}
}

// unreached says why something after the probe failed: because the cluster stopped
// to answer, or because of what the stage does.
func (a *Attempt) unreached(at conditions.Step, err error) *conditions.Failure {
	var late *syncError
	var definition *preflight.DefinitionError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &late):
		return a.fail(conditions.StepSetup, v1.ReasonSetupFailed, "the cluster could not be set up: "+late.Error()+" in time", err)
	case apierrors.IsForbidden(err):
		return a.fail(conditions.StepPermissions, v1.ReasonPermissionsMissing, "the credentials do not allow to review permissions or to set the cluster up", err)
	case errors.As(err, &definition) && errors.As(err, &status) && !apierrors.IsUnauthorized(err):
		return a.fail(at, v1.ReasonSetupFailed, "the definition "+definition.Name+" could not be installed: the cluster answers "+string(apierrors.ReasonForError(err)), err)
	case errors.As(err, &status) && !apierrors.IsUnauthorized(err):
		return a.fail(at, v1.ReasonSetupFailed, "the cluster could not be set up: it answers "+string(apierrors.ReasonForError(err)), err)
	}
	f := explainProbe(a.Access, a.Settings.Clock.Now(), err)
	a.log(f, err)
	return f
}

func (a *Attempt) fail(at conditions.Step, reason, message string, err error) *conditions.Failure {
	f := &conditions.Failure{Step: at, Reason: reason, Message: message}
	a.log(f, err)
	return f
}

// log keeps the cause, which conditions leave out because it may differ each time.
func (a *Attempt) log(f *conditions.Failure, err error) {
	a.Settings.Logger.V(1).Info("Connecting member failed", "cluster", a.Name, "reason", f.Reason, "error", err.Error())
}
