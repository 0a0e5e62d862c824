package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/members/capacity"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
	"github.com/shopfleet/shopfleet/hub/members/crds"
	"github.com/shopfleet/shopfleet/hub/members/health"
	"github.com/shopfleet/shopfleet/hub/members/permissions"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/fencing"
)

// maxSyncs times Timeouts.Sync bounds the initial sync of caches that make progress: lists that fail
// in the middle again and again make some as well.
const maxSyncs = 20

// listenPeriod is the time between reads of the Lease of an agent that is to take over.
const listenPeriod = 500 * time.Millisecond

// Attempt is one attempt to connect a member with one kubeconfig.
type Attempt struct {
	Settings *Settings
	// Name is the name of the member, for logs and messages.
	Name string
	// Access is the checked kubeconfig.
	Access *kubeconfig.Access
	// Mode is the mode to connect the member in.
	Mode v1.Mode
	// Paused means that nothing is written: the record is read and not claimed, and definitions
	// are compared and not installed. Pause blocks writes of a connection that is opened without.
	Paused bool
	Pause  *fencing.Pause
	// RequireAgent requires a renewal of the agent's Lease before the attempt succeeds: until
	// then the hub reconciles the member's copies.
	RequireAgent bool
	// Known holds what the process knows about the member's record.
	Known *Known
	// Replaces is the ID of the record of another hub that this one may replace; empty for none.
	Replaces string
	// Lease is the known state of the agent.
	Lease health.LeaseMonitor
	// Probes is how many probes must succeed in a row, a Period apart. Connect sets Answered
	// once one has succeeded.
	Probes   int
	Period   time.Duration
	Answered bool
	// Admit returns a failure if the cluster with the UID must not be the member.
	Admit func(uid string) *health.Failure
	// Indexes are added before the caches are filled.
	Indexes []Index
	// NodesChanged is called on each change of a node until the connection ends. It must
	// not block.
	NodesChanged func()
	// Unserved is called, possibly many times, when the cluster does not serve a watched
	// kind. It must not block.
	Unserved func()
}

// Connected is the result of a successful attempt.
type Connected struct {
	Connection *Connection
	// UID is the UID of the namespace kube-system.
	UID string
	Inspection
	Nodes capacity.NodeFacts
	// Lease is the state of the agent, in mode Agent.
	Lease health.LeaseMonitor
}

// Inspection holds the results of the periodic checks of a connected member.
type Inspection struct {
	// Missing are the permissions that the credentials lack.
	Missing []authorizationv1.ResourceAttributes
	// RenewalDenied is true if the credentials do not allow to renew their token, which is no
	// reason not to connect.
	RenewalDenied bool
	// Restricted reports whether the cluster denied a write in kube-system; nil if it is not known.
	Restricted *bool
	Server     ServerFacts
	// Definitions lists the definitions that are missing, outdated or being deleted.
	Definitions crds.DefinitionFacts
	// Refused is why the hub must not manage the member any more; nil if it may.
	Refused *health.Failure
}

// Unreadable reports whether Refused is about a record that cannot be read.
func (i *Inspection) Unreadable() bool {
	return i.Refused != nil && i.Refused.Reason == v1.ReasonSetupFailed
}

// Connect runs the attempt within ctx. The connection ends with the context of the
// member, not with ctx. If Connect returns no failure, the caller must engage or close
// the connection.
func (a *Attempt) Connect(ctx, member context.Context) (connected *Connected, failure *health.Failure) {
	access := rest.CopyConfig(a.Access.Config)
	access.Wrap(a.Settings.Wrap)
	always := &fencing.Pause{}
	always.Set(a.Paused)
	access.Wrap(always.Wrap)
	if a.Pause != nil {
		access.Wrap(a.Pause.Wrap)
	}
	t, err := transport.Open(access, a.Settings.Timeouts.transport(), a.Settings.Limits)
	if err != nil {
		return nil, a.fail(health.StepKubeconfig, v1.ReasonKubeconfigInvalid, "the kubeconfig cannot be used to connect", err)
	}
	var conn *Connection
	defer func() { // Also after a panic.
		switch {
		case connected != nil:
		case conn != nil:
			conn.Close()
			<-conn.Ended()
		default:
			t.Close()
		}
	}()
	kept, err := a.newRecord(t)
	if err != nil {
		return nil, a.stepFailed(health.StepSetup, err)
	}
	uid, f := a.reach(ctx, t)
	if f != nil {
		return nil, f
	}
	release, err := a.Settings.Slots.take(ctx, t.Received)
	if err != nil {
		return nil, a.stepFailed(health.StepReach, err)
	}
	defer release()
	result, f := a.check(ctx, t, kept)
	if f != nil {
		return nil, f
	}
	result.UID = uid
	if conn, err = a.Settings.open(member, a, t); err != nil {
		return nil, a.stepFailed(health.StepSetup, err)
	}
	conn.Record = kept
	result.Connection = conn
	if f := a.fill(ctx, result); f != nil {
		return nil, f
	}
	return result, nil
}

// reach probes the cluster and returns its UID, if it may be the member.
func (a *Attempt) reach(ctx context.Context, t *transport.Transport) (string, *health.Failure) {
	uid, err := a.probe(ctx, t)
	if err != nil {
		return "", explainProbe(a.Access, a.Settings.Clock.Now(), err)
	}
	return uid, a.Admit(uid)
}

// check runs the other steps that need no informers.
func (a *Attempt) check(ctx context.Context, t *transport.Transport, kept *RecordClient) (*Connected, *health.Failure) {
	found, err := a.Settings.inspect(ctx, t, a.Access, a.Mode)
	if err != nil {
		return nil, a.stepFailed(health.StepPermissions, err)
	}
	if !config.SupportsKubernetes(found.Server.Version) {
		return nil, health.KubernetesTooOld(found.Server.Version)
	}
	if found.Blocked() {
		return nil, health.PermissionsMissing(a.Name, found.Missing)
	}
	switch f, err := a.takeOver(ctx, t, kept, found); {
	case f != nil:
		return nil, f
	case err != nil && len(found.Missing) > 0 && apierror.Classify(err) == apierror.Forbidden:
		return nil, health.PermissionsMissing(a.Name, found.Missing)
	case err != nil:
		return nil, a.stepFailed(health.StepSetup, err)
	}
	switch absent := found.Definitions.Absent; {
	case len(absent) > 0 && a.Paused:
		return nil, health.DefinitionsHeldBack(a.Mode, absent)
	case len(absent) > 0:
		return nil, health.DefinitionsMissing(a.Mode, absent)
	}
	result := &Connected{Inspection: *found}
	if f := a.listen(ctx, t, result); f != nil {
		return nil, f
	}
	return result, nil
}

// takeOver claims the record and installs the definitions. The claim is the first write:
// if two hubs connect the member at once, only one of them writes anything else. A hub that
// lacks permissions replaces no other hub, which would stop without a successor.
func (a *Attempt) takeOver(ctx context.Context, t *transport.Transport, kept *RecordClient, found *Inspection) (*health.Failure, error) {
	if f, err := kept.check(ctx); f != nil || err != nil {
		return f, err
	}
	if len(found.Missing) > 0 && kept.isOfAnotherHub() {
		return health.PermissionsMissing(a.Name, found.Missing), nil
	}
	var err error
	if !a.Paused {
		err = kept.claim(ctx)
	}
	if err == nil {
		found.Definitions, err = a.ensureDefinitions(ctx, t)
	}
	return nil, err
}

// listen reads the agent's Lease once, or until it is renewed if the attempt requires
// that.
func (a *Attempt) listen(ctx context.Context, t *transport.Transport, result *Connected) *health.Failure {
	if a.Mode != v1.ModeAgent {
		return nil
	}
	began := a.Settings.Clock.Now()
	result.Lease = a.Lease.Resume(began)
	for {
		sign, err := a.Settings.sampleLease(ctx, t)
		if err != nil {
			return a.stepFailed(health.StepSetup, err)
		}
		now := a.Settings.Clock.Now()
		heard := result.Lease.LastRenewal
		result.Lease = result.Lease.After(sign, now, a.Settings.Timeouts.AgentSilence)
		switch {
		case !a.RequireAgent, result.Lease.LastRenewal.After(heard):
			return nil
		case !sign.Present, now.Sub(began) >= a.Settings.Timeouts.AgentTakeover:
			return health.AgentSilent(result.Lease)
		}
		if err := a.pause(ctx, listenPeriod); err != nil {
			return a.stepFailed(health.StepSetup, err)
		}
	}
}

// pause blocks for a duration, or returns the error of the context if that ends first.
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

// probe probes as often as the attempt requires, and returns the UID of the cluster.
func (a *Attempt) probe(ctx context.Context, t *transport.Transport) (string, error) {
	for n := 1; ; n++ {
		uid, err := t.Probe(ctx)
		a.Answered = a.Answered || err == nil
		if err != nil || n >= a.Probes {
			return uid, err
		}
		if err := a.pause(ctx, a.Period); err != nil {
			return "", err
		}
	}
}

func (a *Attempt) ensureDefinitions(ctx context.Context, t *transport.Transport) (crds.DefinitionFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, a.Settings.Timeouts.Prepare)
	defer cancel()
	direct, err := client.New(t.Config(), client.Options{HTTPClient: t.Client(), Scheme: a.Settings.Scheme})
	if err != nil {
		return crds.DefinitionFacts{}, fmt.Errorf("creating a client: %w", err)
	}
	if a.Mode == v1.ModeAgent || a.Paused {
		return a.Settings.profile(a.Mode).Prepare.Verify(ctx, direct)
	}
	return a.Settings.Agentless.Prepare.Install(ctx, direct)
}

// fill waits until the caches are synced, and reads the nodes from them.
func (a *Attempt) fill(ctx context.Context, result *Connected) *health.Failure {
	ctx, cancel := context.WithTimeout(ctx, maxSyncs*a.Settings.Timeouts.Sync)
	defer cancel()
	s := result.Connection
	if err := s.sync(ctx, a.Settings.profile(a.Mode).Watched(), a.Indexes); err != nil {
		return a.stepFailed(health.StepSetup, err)
	}
	if err := s.onNodes(ctx, a.NodesChanged); err != nil {
		return a.stepFailed(health.StepSetup, err)
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return a.stepFailed(health.StepSetup, err)
	}
	result.Nodes = nodes
	return nil
}

// inspect reads the permissions, the version and the capabilities of a cluster.
func (s *Settings) inspect(ctx context.Context, t *transport.Transport, access *kubeconfig.Access, mode v1.Mode) (*Inspection, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeouts.Review)
	defer cancel()
	authorization, err := authorizationv1client.NewForConfigAndClient(t.Config(), t.Client())
	if err != nil {
		return nil, fmt.Errorf("creating a client for access reviews: %w", err)
	}
	networking, err := networkingv1client.NewForConfigAndClient(t.Config(), t.Client())
	if err != nil {
		return nil, fmt.Errorf("creating a client for ingress classes: %w", err)
	}
	storage, err := storagev1client.NewForConfigAndClient(t.Config(), t.Client())
	if err != nil {
		return nil, fmt.Errorf("creating a client for CSI drivers: %w", err)
	}
	found, renewal := &Inspection{}, renewalPermissions(access)
	if found.Server, err = Discover(ctx, networking.RESTClient(), networking, storage); err != nil {
		return nil, err
	}
	if found.Missing, err = permissions.Missing(ctx, authorization, slices.Concat(s.profile(mode).Permissions, renewal)); err != nil {
		return nil, err
	}
	found.Missing = slices.DeleteFunc(found.Missing, func(p authorizationv1.ResourceAttributes) bool {
		denied := slices.Contains(renewal, p)
		found.RenewalDenied = found.RenewalDenied || denied
		return denied || found.Server.Lacks(p)
	})
	core, err := corev1client.NewForConfigAndClient(t.Config(), t.Client())
	if err != nil {
		return nil, fmt.Errorf("creating a client for a dry run: %w", err)
	}
	found.Restricted = permissions.Restricted(ctx, core)
	return found, nil
}

// explainProbe returns the failure for the error of a probe.
func explainProbe(access *kubeconfig.Access, now time.Time, err error) *health.Failure {
	fault := transport.Classify(err)
	if fault.Reason == v1.ReasonUnauthorized && !access.ExpiresAt.IsZero() && now.After(access.ExpiresAt) {
		return &health.Failure{Step: health.StepReach, Reason: v1.ReasonExpired, Message: "the credentials of the kubeconfig have expired"}
	}
	return &health.Failure{Step: health.StepReach, Reason: fault.Reason, Message: fault.Message}
}

// stepFailed returns the failure for an error after the probe: the cluster stopped
// answering, or the step failed.
func (a *Attempt) stepFailed(at health.Step, err error) *health.Failure {
	var late *syncError
	var status apierrors.APIStatus
	class := apierror.Classify(err)
	switch {
	case errors.Is(err, permissions.ErrUnevaluated):
		return a.fail(health.StepReach, v1.ReasonProbeFailed, permissions.ErrUnevaluated.Error(), err)
	case errors.As(err, &late):
		return a.fail(health.StepSetup, v1.ReasonSetupFailed, "the cluster could not be set up: "+late.Error()+" in time", err)
	case class == apierror.Forbidden:
		return a.fail(health.StepPermissions, v1.ReasonPermissionsMissing, "the credentials do not allow to review permissions or to install definitions", err)
	case errors.As(err, &status) && class != apierror.Unauthorized:
		what := "the cluster could not be set up"
		if definition, ok := errors.AsType[*crds.DefinitionError](err); ok {
			what = "the CustomResourceDefinition " + definition.Name + " could not be installed"
		}
		if class == apierror.Internal {
			return a.fail(at, v1.ReasonSetupFailed, what+": "+apierror.Message(err), err)
		}
		reason := cmp.Or(string(apierrors.ReasonForError(err)), "an error")
		return a.fail(at, v1.ReasonSetupFailed, what+": the API server returned "+reason, err)
	}
	f := explainProbe(a.Access, a.Settings.Clock.Now(), err)
	a.log(f, err)
	return f
}

func (a *Attempt) fail(at health.Step, reason, message string, err error) *health.Failure {
	f := &health.Failure{Step: at, Reason: reason, Message: message}
	a.log(f, err)
	return f
}

// log logs the cause, which conditions omit because its text may differ between attempts.
func (a *Attempt) log(f *health.Failure, err error) {
	a.Settings.Logger.V(1).Info("Connecting member failed", "cluster", a.Name, "reason", f.Reason, "error", err.Error())
}
