package join

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/config"
)

// maxName is the maximum length of the name of a member, which is also the value of a label.
const maxName = 63

// Why a cluster cannot be registered.
var (
	errName        = errors.New("invalid name for a member")
	errHubItself   = errors.New("it is the hub itself")
	errAlready     = errors.New("it is already a member")
	errAnother     = errors.New("the name is taken by another cluster")
	errLeaving     = errors.New("the MemberCluster is being deleted")
	errSecretTaken = errors.New("the Secret already exists")
	errTooOld      = errors.New("the cluster is too old")
)

// ModeOf returns the mode for a value of --mode; empty for any other.
func ModeOf(word string) v1.Mode {
	return map[string]v1.Mode{"agentless": v1.ModeAgentless, "agent": v1.ModeAgent}[word]
}

// Providers returns the values of --provider.
func Providers() []string {
	return []string{string(v1.ProviderAWS), string(v1.ProviderGCP), string(v1.ProviderAzure), string(v1.ProviderOther)}
}

// CheckName returns an error if a name is not valid for a member.
func CheckName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if len(name) > maxName {
		problems = append(problems, fmt.Sprintf("must be no more than %d characters", maxName))
	}
	if len(problems) > 0 {
		return hint.With(fmt.Errorf("joining %q: %w: %s", name, errName, problems[0]), "Choose a name such as eu-1.")
	}
	return nil
}

// CheckKubernetes returns an error if the hub would refuse a cluster for the version of its API server.
func CheckKubernetes(version string) error {
	if config.SupportsKubernetes(version) {
		return nil
	}
	return hint.With(fmt.Errorf("joining a cluster of Kubernetes %s: %w: %s is the oldest version that is supported", version, errTooOld, config.OldestKubernetes),
		"Upgrade the cluster first.")
}

// Known is the state of the hub before a registration.
type Known struct {
	// HubUID is the identity of the hub's cluster; empty when unknown.
	HubUID  string
	Members []v1.MemberCluster
	// Secret is the Secret with the name of the member, or nil.
	Secret *corev1.Secret
}

// Mode returns the mode to set: the requested one, else the current one, else agentless.
func (k Known) Mode(name string, asked v1.Mode) v1.Mode {
	for i := range k.Members {
		if k.Members[i].Name == name {
			asked = cmp.Or(asked, k.Members[i].Spec.Mode)
		}
	}
	return cmp.Or(asked, v1.ModeAgentless)
}

// Endpoint returns the endpoint to register for the cluster with this identity: the
// user's kubeconfig's, at the address that is registered for the cluster already, which
// may be the only one that the hub can reach.
func (k Known) Endpoint(name, uid string, at Endpoint) Endpoint {
	same := slices.ContainsFunc(k.Members, func(m v1.MemberCluster) bool { return m.Name == name && m.Status.ClusterUID == uid })
	if !same || !k.registered() {
		return at
	}
	if stored, ok := endpointIn(k.Secret.Data[v1.KubeconfigKey]); ok {
		at.Server = stored.Server
	}
	return at
}

// registered reports whether the Secret is a registration.
func (k Known) registered() bool {
	if k.Secret == nil {
		return false
	}
	_, labeled := k.Secret.Labels[v1.MemberClusterLabel]
	return labeled
}

// Check returns an error if the cluster with this identity and endpoint must not be
// registered under the name. Overwrite allows replacing a Secret that may register
// another cluster.
func (k Known) Check(name, uid string, at Endpoint, overwrite bool) error {
	if uid == k.HubUID {
		return hint.With(fmt.Errorf("joining %q: %w", name, errHubItself),
			"Name the kubeconfig of the member with --member-kubeconfig. --kubeconfig and --context choose the hub.")
	}
	known := false
	for i := range k.Members {
		member := &k.Members[i]
		switch {
		case member.Name != name && member.Status.ClusterUID == uid:
			return hint.With(fmt.Errorf("joining %q: %w, under the name %q", name, errAlready, member.Name),
				"Use that name, or run first: kubectl shopfleet unjoin "+member.Name)
		case member.Name != name:
		case !member.DeletionTimestamp.IsZero():
			return hint.With(fmt.Errorf("joining %q: %w", name, errLeaving), "Try again in a few seconds.")
		case member.Status.ClusterUID == uid:
			known = true
		case member.Status.ClusterUID != "":
			return hint.With(fmt.Errorf("joining %q: %w", name, errAnother),
				"Choose another name, or remove that cluster first: kubectl shopfleet unjoin "+name)
		}
	}
	if known || overwrite || k.Secret == nil {
		return nil
	}
	return k.checkSecret(name, at)
}

// Replaces describes the Secret that a registration replaces, if there is one.
func (k Known) Replaces() string {
	if k.Secret == nil {
		return ""
	}
	text := "Secret " + k.Secret.Namespace + "/" + k.Secret.Name
	if !k.registered() {
		return text + ", which is not a registration"
	}
	if stored, ok := endpointIn(k.Secret.Data[v1.KubeconfigKey]); ok {
		return text + ", which registers " + stored.Server
	}
	return text + ", whose kubeconfig is not valid"
}

func (k Known) checkSecret(name string, at Endpoint) error {
	secret := k.Secret.Namespace + "/" + k.Secret.Name
	if !k.registered() {
		return hint.With(fmt.Errorf("joining %q: %w: %s is not a registration", name, errSecretTaken, secret),
			"Choose another name, or replace the Secret with --overwrite.")
	}
	if stored, ok := endpointIn(k.Secret.Data[v1.KubeconfigKey]); ok && stored.Same(at) {
		return nil
	}
	return hint.With(fmt.Errorf("joining %q: %w: %s registers another cluster, or this one at another address", name, errSecretTaken, secret),
		"If this cluster should have the name, run the command again with --overwrite.")
}
