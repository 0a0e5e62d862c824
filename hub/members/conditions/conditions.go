package conditions

import (
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/preflight"
)

// Stage is how far an attempt to connect came.
type Step int

// The stages, in their order.
const (
	StepKubeconfig Step = iota
	StepReach
	StepIdentity
	StepPermissions
	StepSetup
)

// Failure is why a kubeconfig does not lead to an engaged member.
type Failure struct {
	Step Step
	// Reason and Message are those of a condition.
	Reason, Message string
}

// Lacking is the failure of credentials that do not allow enough.
func PermissionsMissing(missing []authorizationv1.ResourceAttributes) *Failure {
	return &Failure{StepPermissions, v1.ReasonPermissionsMissing, lacking(missing)}
}

// Undefined is the failure of a cluster that does not have the definitions of these
// names.
func DefinitionsMissing(mode v1.Mode, names []string) *Failure {
	if mode == v1.ModeAgent {
		return &Failure{StepSetup, v1.ReasonAgentMissing,
			"the cluster does not have the definition " + strings.Join(names, ", ") + ": " + messageInstall}
	}
	return &Failure{StepSetup, v1.ReasonSetupFailed,
		"the cluster has lost the definition " + strings.Join(names, ", ") + ": it is installed again"}
}

// Unheard is the failure of a cluster whose agent should take over and does not.
func AgentSilent(p LeaseMonitor) *Failure {
	if p.Beat != BeatMissing {
		p.Beat = BeatSilent
	}
	c := p.Condition()
	return &Failure{StepSetup, c.Reason, c.Message}
}

// Conditions are the facts about a member.
type Conditions struct {
	Ready            Condition
	Connected        Condition
	Authorized       Condition
	IdentityVerified Condition
	CredentialsValid Condition
	// AgentReady is about the agent of a cluster in mode Agent. Its status is empty in
	// mode Agentless.
	AgentReady Condition
}

// Condition is one fact. The reasons are those of api/v1, and the message is the
// same for the same trouble.
type Condition struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// Picture is what is known about a member now.
type Observation struct {
	// Engaged tells that the member is connected and the hub works there.
	Engaged bool
	// Missing are the permissions that an engaged member lacks.
	Missing []authorizationv1.ResourceAttributes
	// Deleting are the definitions that an engaged member is about to lose.
	Deleting []string
	// Mode is that of an engaged member, Wanted the one that it should have.
	Mode, Wanted v1.Mode
	// Pulse is that of the agent of an engaged member in mode Agent.
	Lease LeaseMonitor
	// Outdated are the definitions that are older there than the hub's, in mode Agent.
	Outdated []string
	// Failure is why the wanted kubeconfig does not work; nil while nothing is known
	// against it. On an engaged member it is about a kubeconfig that is to come.
	Failure *Failure
}

const (
	messageConnecting = "connecting to the cluster"
	messageNotChecked = "not checked yet"
	messageStillInUse = "; the previous kubeconfig is still in use"
	messageAgentStays = "; the agent runs the shops until then"
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
	return yes(v1.ReasonAuthorized, "the credentials allow all that is needed")
}

func verified() Condition {
	return yes(v1.ReasonVerified, "the cluster is the one that was registered")
}

// Unseen are the conditions of a member that nothing is known about.
func NotObserved() Conditions {
	return Conditions{
		Ready:            unknown(v1.ReasonConnecting, messageConnecting),
		Connected:        unknown(v1.ReasonConnecting, messageConnecting),
		Authorized:       unknown(v1.ReasonNotChecked, messageNotChecked),
		IdentityVerified: unknown(v1.ReasonNotChecked, messageNotChecked),
		CredentialsValid: unknown(v1.ReasonNotChecked, messageNotChecked),
	}
}

// Judge returns the conditions that follow from the picture. What the picture says
// nothing about stays as it was last.
func Compute(last Conditions, p Observation) Conditions {
	switch {
	case p.Engaged:
		return computeEngaged(p)
	case p.Failure == nil:
		return last
	}
	f := p.Failure
	next := last
	next.Ready = no(f.Reason, f.Message)
	next.AgentReady = agentOfLost(p)
	switch f.Step {
	case StepKubeconfig:
		next.CredentialsValid = no(f.Reason, f.Message)
		next.Connected = no(f.Reason, "there is no kubeconfig that may be used")
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

// reach is what follows when the probe failed.
func (c *Conditions) reach(f *Failure) {
	c.Connected = no(f.Reason, f.Message)
	switch f.Reason {
	case v1.ReasonProbeFailed:
		// Whoever does not answer says nothing about credentials: what was good may
		// still be, what was bad may have been mended.
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

func computeEngaged(p Observation) Conditions {
	next := Conditions{
		Ready:            yes(v1.ReasonConnected, "the cluster is connected"),
		Connected:        answers(),
		Authorized:       authorized(),
		IdentityVerified: verified(),
		CredentialsValid: accepted(),
	}
	if len(p.Deleting) > 0 {
		then := "it is installed again once it is gone"
		if p.Mode == v1.ModeAgent {
			then = messageInstall
		}
		next.Ready = no(v1.ReasonSetupFailed, "the definition "+strings.Join(p.Deleting, ", ")+
			" is being deleted in the cluster, with all objects of the kind: "+then)
	}
	if len(p.Missing) > 0 {
		next.Authorized = no(v1.ReasonPermissionsMissing, lacking(p.Missing))
		next.Ready = next.Authorized
	}
	next.setAgent(p)
	if p.Failure != nil {
		next.hold(p)
	}
	return next
}

// setAgent says how the agent is of an engaged member. That nobody keeps the copies'
// status up to date is worth more than anything else, since it makes that status old.
func (c *Conditions) setAgent(p Observation) {
	if p.Mode != v1.ModeAgent {
		return
	}
	if len(p.Outdated) > 0 && c.Ready.Status == metav1.ConditionTrue {
		c.Ready = no(v1.ReasonSetupFailed, "the definition "+strings.Join(p.Outdated, ", ")+
			" in the cluster is older than the hub's, and its agent may be too: "+messageInstall)
	}
	c.AgentReady = p.Lease.Condition()
	if c.AgentReady.Status != metav1.ConditionTrue {
		c.Ready = c.AgentReady
	}
}

// hold says why an engaged member stays as it is although something else is wanted:
// another kubeconfig, or another mode.
func (c *Conditions) hold(p Observation) {
	f := p.Failure
	switch {
	case p.Mode == p.Wanted:
		c.CredentialsValid = no(f.Reason, f.Message+messageStillInUse)
	case p.Wanted == v1.ModeAgent:
		c.AgentReady = no(f.Reason, f.Message+"; the hub runs the shops until then")
	case f.Step == StepPermissions:
		c.Authorized = no(f.Reason, f.Message+messageAgentStays)
	default:
		c.CredentialsValid = no(f.Reason, f.Message+messageAgentStays)
	}
}

// agentOfLost says what is known of the agent of a member that is not engaged.
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

func lacking(permissions []authorizationv1.ResourceAttributes) string {
	return "the credentials do not allow: " + preflight.Describe(permissions)
}
