package health

import (
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
	"github.com/shopfleet/shopfleet/hub/members/permissions"
)

// Step is a step of connecting a member.
type Step int

// The steps, in order.
const (
	StepKubeconfig Step = iota
	StepReach
	StepIdentity
	StepPermissions
	StepSetup
)

// Failure describes why a member could not be connected.
type Failure struct {
	Step Step
	// Reason and Message are used in conditions.
	Reason, Message string
	// OtherHub is the ID of the record of the hub that manages the member, if it is another one.
	OtherHub string
}

// PermissionsMissing returns the failure for credentials of a member that lack permissions.
func PermissionsMissing(member string, missing []authorizationv1.ResourceAttributes) *Failure {
	return &Failure{Step: StepPermissions, Reason: v1.ReasonPermissionsMissing, Message: missingMessage(member, missing)}
}

// KubernetesTooOld returns the failure for a cluster whose API server has a version that is not supported.
func KubernetesTooOld(server string) *Failure {
	return &Failure{Step: StepSetup, Reason: v1.ReasonKubernetesTooOld, Message: fmt.Sprintf(
		"the cluster runs Kubernetes %s, and %s is the oldest that is supported: upgrade the cluster; what runs there stays", server, config.OldestKubernetes)}
}

// DefinitionsMissing returns the failure for a cluster that lacks the named
// CustomResourceDefinitions.
func DefinitionsMissing(mode v1.Mode, names []string) *Failure {
	if mode == v1.ModeAgent {
		return &Failure{Step: StepSetup, Reason: v1.ReasonAgentMissing, Message: "the cluster lacks the CustomResourceDefinition " + strings.Join(names, ", ") + ": " + messageInstall}
	}
	return &Failure{Step: StepSetup, Reason: v1.ReasonSetupFailed, Message: "the cluster lost the CustomResourceDefinition " + strings.Join(names, ", ") + ": the hub installs it again"}
}

// DefinitionsHeldBack returns the failure for a cluster that lacks the named
// CustomResourceDefinitions while it is paused.
func DefinitionsHeldBack(mode v1.Mode, names []string) *Failure {
	if mode == v1.ModeAgent {
		return DefinitionsMissing(mode, names)
	}
	return &Failure{Step: StepSetup, Reason: v1.ReasonSetupFailed, Message: "the cluster lacks the CustomResourceDefinition " + strings.Join(names, ", ") +
		": the hub installs it at the end of spec.paused of the MemberCluster, or of its safe mode"}
}

// ManagedByAnotherHub returns the failure for a cluster with the record of another hub.
func ManagedByAnotherHub(r ownership.Record) *Failure {
	message := "the hub with the UID " + r.Hub + " manages the cluster: remove the cluster there, or see kubectl shopfleet recover list -A"
	if r.Hub == "" {
		message = "the record in the cluster no longer names the hub that manages it: see kubectl shopfleet recover list -A"
	}
	return &Failure{Step: StepIdentity, Reason: v1.ReasonManagedByAnotherHub, OtherHub: r.ID(), Message: message}
}

// Superseded returns the failure for a cluster that a later process of this hub manages.
func Superseded() *Failure {
	return &Failure{Step: StepIdentity, Reason: v1.ReasonManagedByAnotherHub, Message: "a later process of this hub manages the cluster: restart this one"}
}

// RecordInvalid returns the failure for a cluster whose record cannot be read.
func RecordInvalid(record fmt.Stringer, err error) *Failure {
	return &Failure{Step: StepSetup, Reason: v1.ReasonSetupFailed, Message: fmt.Sprintf(
		"the ConfigMap %s in the cluster cannot be read (%v): restore or delete it", record, err)}
}

// Unwatched returns the failure for a cluster that returns errors for lists or watches of the
// described resources.
func Unwatched(resources []string) *Failure {
	return &Failure{Step: StepSetup, Reason: v1.ReasonSetupFailed, Message: "the API server returns errors for lists or watches of " +
		strings.Join(resources, ", ") + ": what the hub knows of the cluster is outdated"}
}

// AgentSilent returns the failure for a cluster whose agent was to take over but does not
// renew its Lease.
func AgentSilent(p LeaseMonitor) *Failure {
	if p.State != LeaseMissing {
		p.State = LeaseExpired
	}
	c := p.Condition()
	return &Failure{Step: StepSetup, Reason: c.Reason, Message: c.Message}
}

// Conditions are the conditions of a member.
type Conditions struct {
	Ready            Condition
	Connected        Condition
	Authorized       Condition
	IdentityVerified Condition
	CredentialsValid Condition
	// CredentialsRenewed describes the expiry of the credentials; see Credentials.
	CredentialsRenewed Condition
	// AccountRestricted describes the admission policies for the hub's account. Its Status is empty
	// until they are known.
	AccountRestricted Condition
	// AgentReady describes the agent of a cluster in mode Agent. Its Status is empty in
	// mode Agentless.
	AgentReady Condition
	// DefinitionsCurrent names definitions that are older than the hub's. Its Status is empty if none is.
	DefinitionsCurrent Condition
}

// Condition is one condition. Reason is one of the constants of api/v1; Message is
// deterministic.
type Condition struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// Observation represents the current knowledge about a member.
type Observation struct {
	// Member is the name of the member.
	Member string
	// Engaged is true if the member is connected and the hub's reconcilers run there.
	Engaged bool
	// Missing are the permissions that a connected member lacks.
	Missing []authorizationv1.ResourceAttributes
	// Deleting are the definitions that are being deleted in a connected member.
	Deleting []string
	// Restricted reports whether a connected member denied a write in kube-system; nil if it is not known.
	Restricted *bool
	// Mode is the mode of a connected member, Wanted the requested one.
	Mode, Wanted v1.Mode
	// Paused is true if the hub writes nothing to a connected member, SafeMode if that is so for all.
	Paused, SafeMode bool
	// Lease monitors the agent of a connected member in mode Agent.
	Lease LeaseMonitor
	// Outdated are the definitions that are older than the hub's, in mode Agent.
	Outdated []string
	// Failure describes why the requested kubeconfig or mode does not work; nil if no
	// problem is known. A connected member keeps its previous connection meanwhile.
	Failure *Failure
}

const (
	messageConnecting = "connecting to the cluster"
	messageNotChecked = "not checked yet"
	messageStillInUse = "; the previous kubeconfig is still in use"
	messageAgentStays = "; until then the agent reconciles the applications"
)

func yes(reason, message string) Condition {
	return Condition{Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func no(reason, message string) Condition {
	return Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func unknown(reason, message string) Condition {
	return Condition{Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}

func answers() Condition { return yes(v1.ReasonConnected, "the cluster answers") }

func accepted() Condition { return yes(v1.ReasonValid, "the cluster accepts the credentials") }

func authorized() Condition {
	return yes(v1.ReasonAuthorized, "the credentials grant all required permissions")
}

func verified() Condition {
	return yes(v1.ReasonVerified, "the cluster is the one that was registered")
}

// NotObserved returns the conditions of a member about which nothing is known yet.
func NotObserved() Conditions {
	return Conditions{
		Ready:            unknown(v1.ReasonConnecting, messageConnecting),
		Connected:        unknown(v1.ReasonConnecting, messageConnecting),
		Authorized:       unknown(v1.ReasonNotChecked, messageNotChecked),
		IdentityVerified: unknown(v1.ReasonNotChecked, messageNotChecked),
		CredentialsValid: unknown(v1.ReasonNotChecked, messageNotChecked),
	}
}

// Compute returns the conditions for an observation. Conditions about which the
// observation says nothing are copied from last.
func Compute(last Conditions, p Observation) Conditions {
	if p.Wanted != v1.ModeAgent {
		last.DefinitionsCurrent = Condition{} // The hub writes the definitions of other members itself.
	}
	switch {
	case p.Engaged:
		return computeEngaged(last, p)
	case p.Failure == nil:
		return last
	}
	f := p.Failure
	next := last
	next.Ready = no(f.Reason, f.Message)
	next.AgentReady = agentOfLost(p)
	if f.Reason == v1.ReasonAgentMissing {
		next.DefinitionsCurrent = Condition{} // What is not there is not outdated.
	}
	switch f.Step {
	case StepKubeconfig:
		next.CredentialsValid = no(f.Reason, f.Message)
		next.Connected = no(f.Reason, "the kubeconfig cannot be used")
	case StepReach:
		next.reach(f)
	case StepIdentity:
		next.Connected, next.CredentialsValid = answers(), accepted()
		next.IdentityVerified = no(f.Reason, f.Message)
	case StepPermissions:
		next.Connected, next.CredentialsValid, next.IdentityVerified = answers(), accepted(), verified()
		next.Authorized = no(f.Reason, f.Message)
	case StepSetup:
		next.Connected, next.CredentialsValid, next.IdentityVerified = answers(), accepted(), verified()
		next.Authorized = authorized()
	}
	return next
}

// reach sets the conditions after a failed probe.
func (c *Conditions) reach(f *Failure) {
	c.Connected = no(f.Reason, f.Message)
	switch f.Reason {
	case v1.ReasonProbeFailed:
		// Without an answer the validity of the credentials is unknown: valid ones may
		// still be valid, and invalid ones may have been replaced.
		if c.CredentialsValid.Status != metav1.ConditionTrue {
			c.CredentialsValid = unknown(v1.ReasonNotChecked, messageNotChecked)
		}
	case v1.ReasonPermissionsMissing:
		c.CredentialsValid = accepted()
		c.Authorized = no(f.Reason, f.Message)
	default:
		c.CredentialsValid = no(f.Reason, f.Message)
	}
}

func computeEngaged(last Conditions, p Observation) Conditions {
	next := Conditions{
		Ready:             yes(v1.ReasonConnected, "the cluster is connected"),
		Connected:         answers(),
		Authorized:        authorized(),
		IdentityVerified:  verified(),
		CredentialsValid:  accepted(),
		AccountRestricted: restricted(last, p),
	}
	switch {
	case p.SafeMode:
		next.Ready = yes(v1.ReasonPaused, "the cluster is connected; the hub runs in safe mode and writes nothing there")
	case p.Paused:
		next.Ready = yes(v1.ReasonPaused, "the cluster is connected; spec.paused is set, and the hub writes nothing there")
	}
	if len(p.Deleting) > 0 {
		then := "the hub installs it again after the deletion"
		switch {
		case p.Mode == v1.ModeAgent:
			then = messageInstall
		case p.Paused:
			then = "the hub installs it again after the deletion and the pause"
		}
		next.Ready = no(v1.ReasonSetupFailed, "the CustomResourceDefinition "+strings.Join(p.Deleting, ", ")+
			" is being deleted in the cluster, with all objects of that kind: "+then)
	}
	if len(p.Missing) > 0 {
		next.Authorized = no(v1.ReasonPermissionsMissing, missingMessage(p.Member, p.Missing))
		next.Ready = next.Authorized
	}
	next.setAgent(p)
	if p.Failure != nil {
		next.keepPrevious(p)
	}
	return next
}

// restricted returns the condition AccountRestricted. A check without an answer leaves what the last one found.
func restricted(last Conditions, p Observation) Condition {
	switch {
	case p.Restricted == nil:
		return last.AccountRestricted
	case *p.Restricted:
		return yes(v1.ReasonPoliciesInForce, "the cluster denies the hub writes in kube-system")
	default:
		return no(v1.ReasonPoliciesMissing, "the cluster would let the hub write in kube-system: run kubectl shopfleet join "+p.Member+" again, which installs the admission policies for its account")
	}
}

// setAgent sets the conditions that concern the agent of a connected member. A silent
// agent takes precedence over any other problem in Ready, because it makes the reported
// status outdated.
func (c *Conditions) setAgent(p Observation) {
	if p.Mode != v1.ModeAgent {
		return
	}
	if len(p.Outdated) > 0 {
		c.DefinitionsCurrent = no(v1.ReasonDefinitionOutdated, "the CustomResourceDefinition "+strings.Join(p.Outdated, ", ")+
			" in the cluster lacks fields that the hub's has, and the agent may be as old: run kubectl shopfleet join "+p.Member+
			" again with the --spoke-image of the hub's release")
	}
	c.AgentReady = p.Lease.Condition()
	if c.AgentReady.Status != metav1.ConditionTrue {
		c.Ready = c.AgentReady
	}
}

// keepPrevious reports why a connected member keeps its kubeconfig or mode although another one is
// requested.
func (c *Conditions) keepPrevious(p Observation) {
	f := p.Failure
	switch {
	case p.Mode == p.Wanted:
		c.CredentialsValid = no(f.Reason, f.Message+messageStillInUse)
	case p.Wanted == v1.ModeAgent:
		c.AgentReady = no(f.Reason, f.Message+"; until then the hub reconciles the applications")
	case f.Step == StepPermissions:
		c.Authorized = no(f.Reason, f.Message+messageAgentStays)
	default:
		c.CredentialsValid = no(f.Reason, f.Message+messageAgentStays)
	}
}

// agentOfLost returns the condition AgentReady of a member that is not connected.
func agentOfLost(p Observation) Condition {
	switch {
	case p.Wanted != v1.ModeAgent:
		return Condition{}
	case p.Failure.Reason == v1.ReasonAgentMissing:
		return no(p.Failure.Reason, p.Failure.Message)
	default:
		return unknown(v1.ReasonNotChecked, "the cluster is not connected")
	}
}

// missingMessage names the command that grants the permissions: a later version of the hub
// may need more than a member granted when it joined.
func missingMessage(member string, missing []authorizationv1.ResourceAttributes) string {
	return "the credentials do not allow: " + permissions.Describe(missing) + ": run kubectl shopfleet join " + member + " again, which grants it"
}
