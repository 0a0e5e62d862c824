package join

import (
	"cmp"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// maxName is how long a member's name may be: it becomes a label's value.
const maxName = 63

// Why a cluster is not registered.
var (
	errName        = errors.New("not a name for a member")
	errHubItself   = errors.New("it is the hub itself")
	errAlready     = errors.New("it is a member already")
	errAnother     = errors.New("the name belongs to another cluster")
	errLeaving     = errors.New("it is leaving the fleet right now")
	errSecretTaken = errors.New("the Secret exists")
)

// ModeOf returns the mode that people call so; empty for any other word.
func ModeOf(word string) v1.Mode {
	return map[string]v1.Mode{"agentless": v1.ModeAgentless, "agent": v1.ModeAgent}[word]
}

// Providers are the clouds that people may name.
func Providers() []string {
	return []string{string(v1.ProviderAWS), string(v1.ProviderGCP), string(v1.ProviderAzure), string(v1.ProviderLocal)}
}

// CheckName tells whether a name can be a member's.
func CheckName(name string) error {
	problems := validation.IsDNS1123Subdomain(name)
	if len(name) > maxName {
		problems = append(problems, fmt.Sprintf("must be no more than %d characters", maxName))
	}
	if len(problems) > 0 {
		return hint.With(fmt.Errorf("%q: %w: %s", name, errName, problems[0]), "Choose a name such as eu-1.")
	}
	return nil
}

// Known is what the hub knows that bears on a registration.
type Known struct {
	// HubUID is the identity of the hub's cluster; empty when unknown.
	HubUID  string
	Members []v1.MemberCluster
	// Secret is the one with the member's name, or nil.
	Secret *corev1.Secret
}

// Mode returns the mode that a member is to be in: the one that is asked for, or the
// one that it is in, or without an agent.
func (k Known) Mode(name string, asked v1.Mode) v1.Mode {
	for i := range k.Members {
		if k.Members[i].Name == name {
			asked = cmp.Or(asked, k.Members[i].Spec.Mode)
		}
	}
	return cmp.Or(asked, v1.ModeAgentless)
}

// Check tells what speaks against registering the cluster with this identity and
// endpoint under the name. Overwrite allows to replace a Secret that may be another
// cluster's.
func (k Known) Check(name, uid string, at Endpoint, overwrite bool) error {
	if uid == k.HubUID {
		return hint.With(fmt.Errorf("joining %q: %w", name, errHubItself),
			"Give the member's kubeconfig to --member-kubeconfig; --kubeconfig and --context choose the hub.")
	}
	known := false
	for i := range k.Members {
		member := &k.Members[i]
		switch {
		case member.Name != name && member.Status.ClusterUID == uid:
			return hint.With(fmt.Errorf("joining %q: %w under the name %q", name, errAlready, member.Name),
				"Use that name, or run first: kubectl shopfleet unjoin "+member.Name)
		case member.Name != name:
		case !member.DeletionTimestamp.IsZero():
			return hint.With(fmt.Errorf("joining %q: %w", name, errLeaving), "Try again in a few seconds.")
		case member.Status.ClusterUID == uid:
			known = true
		case member.Status.ClusterUID != "":
			return hint.With(fmt.Errorf("joining %q: %w", name, errAnother),
				"Choose another name, or take that cluster out of the fleet first: kubectl shopfleet unjoin "+name)
		}
	}
	if known || overwrite || k.Secret == nil {
		return nil
	}
	return k.checkSecret(name, at)
}

func (k Known) checkSecret(name string, at Endpoint) error {
	secret := k.Secret.Namespace + "/" + k.Secret.Name
	if _, ours := k.Secret.Labels[v1.MemberClusterLabel]; !ours {
		return hint.With(fmt.Errorf("joining %q: %w: %s is no registration", name, errSecretTaken, secret),
			"Choose another name, or replace the Secret with --overwrite.")
	}
	if stored, ok := endpointIn(k.Secret.Data[v1.KubeconfigKey]); ok && stored.Same(at) {
		return nil
	}
	return hint.With(fmt.Errorf("joining %q: %w: %s registers another cluster, or this one at another address", name, errSecretTaken, secret),
		"If this is the cluster that should have the name, repeat the command with --overwrite.")
}
