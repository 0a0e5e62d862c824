package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
	"github.com/shopfleet/shopfleet/config"
)

// versions is the output of the command version.
type versions struct {
	Client  clientVersion   `json:"client"`
	Hub     *hubVersion     `json:"hub,omitempty"`
	Members []memberVersion `json:"members,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

type hubVersion struct {
	// Version is the version of the leader; empty if it is unknown.
	Version    string `json:"version,omitempty"`
	Image      string `json:"image,omitempty"`
	Kubernetes string `json:"kubernetes"`
	Server     string `json:"server"`
	// Skew compares the hub with this program.
	Skew string `json:"skew"`
}

type memberVersion struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
	// Agent is the version of the agent; empty without an agent or if it is unknown.
	Agent      string `json:"agent,omitempty"`
	Kubernetes string `json:"kubernetes,omitempty"`
	// Skew compares the agent with the hub; empty without an agent.
	Skew string `json:"skew,omitempty"`
}

func (p *Program) versionCommand() *cobra.Command {
	var clientOnly bool
	var out *output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this program, the hub, the agents and Kubernetes",
		Long: `Show the versions of this program, the hub, the agents and Kubernetes.

SKEW is Supported if the hub and an agent, or this program and the hub, are at most one
minor version apart. Members without an agent have no version of their own.`,
		Example: `  kubectl shopfleet version
  kubectl shopfleet version --client
  kubectl shopfleet version -o yaml`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			found, err := p.versions(cmd.Context(), clientOnly)
			// The version of the program is shown also when the hub does not answer.
			return errors.Join(p.showVersions(out, found), err)
		},
	}
	out = newTableOutput(cmd)
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Show the version of this program only; sends no request")
	return cmd
}

func (p *Program) versions(ctx context.Context, clientOnly bool) (versions, error) {
	found := versions{Client: clientVersion{Version: p.version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}}
	if clientOnly {
		return found, nil
	}
	hub, err := p.hub()
	if err != nil {
		return found, err
	}
	err = p.during("waiting for the hub at "+hub.config.Host, func() error {
		if found.Hub, err = p.hubVersion(ctx, hub); err != nil {
			return err
		}
		members := &v1.MemberClusterList{}
		if err := hub.client.List(ctx, members); err != nil {
			return fmt.Errorf("listing MemberClusters: %w", err)
		}
		found.Members = memberVersions(members.Items, found.Hub.Version)
		return nil
	})
	return found, err
}

// hubVersion returns the version of the hub, as far as it is known.
func (p *Program) hubVersion(ctx context.Context, hub *cluster) (*hubVersion, error) {
	kubernetes, err := join.Kubernetes(ctx, hub.config)
	if err != nil {
		return nil, err
	}
	found := &hubVersion{Server: hub.config.Host, Kubernetes: kubernetes}
	current, _ := p.running(ctx, hub, config.Hub) // What cannot be read is unknown.
	found.Image, found.Version = current.image, current.version
	found.Skew = doctor.Skew(found.Version, p.version)
	return found, nil
}

// process holds what runs of a hub or a spoke; empty fields are not known, or there is nothing.
type process struct {
	image, version string
	pullSecrets    []string
	// isThere is set if there is a Deployment, or a leader without one. A Lease alone may be left of one that was removed.
	isThere bool
}

// running returns what runs of a hub or a spoke, and the errors about what it could not read. The version is that of the
// leader, which its Lease has. Without one it is the tag of the image.
func (p *Program) running(ctx context.Context, at *cluster, set config.Set) (process, error) {
	var found process
	deployment, lease := &appsv1.Deployment{}, &coordinationv1.Lease{}
	notDeployed := at.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: deploymentName(set)}, deployment)
	notLed := at.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: leaseName(set)}, lease)
	if notDeployed == nil && len(deployment.Spec.Template.Spec.Containers) > 0 {
		found.image = deployment.Spec.Template.Spec.Containers[0].Image
		found.version = tag(found.image)
		found.pullSecrets = installer.PullSecrets(deployment)
	}
	if notLed == nil {
		found.version = cmp.Or(lease.Labels[v1.VersionLabel], found.version)
	}
	found.isThere = notDeployed == nil || p.clock.Now().Before(doctor.LeadsUntil(lease))
	err := errors.Join(client.IgnoreNotFound(notDeployed), client.IgnoreNotFound(notLed))
	if err != nil {
		return found, fmt.Errorf("looking for a %s: %w", set, err)
	}
	return found, nil
}

// isOlderThan reports whether what runs there is of a newer release than this program.
func (p *Program) isOlderThan(current process) bool {
	return current.isThere && doctor.IsOlder(p.version, current.version)
}

// tag returns the tag of an image, or an empty string.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	return tag
}

func memberVersions(members []v1.MemberCluster, hub string) []memberVersion {
	all := make([]memberVersion, 0, len(members))
	for i := range members {
		m := &members[i]
		one := memberVersion{Name: m.Name, Mode: string(cmp.Or(m.Spec.Mode, v1.ModeAgentless)), Kubernetes: m.Status.KubernetesVersion}
		if m.Spec.Mode == v1.ModeAgent {
			one.Agent, one.Skew = m.Status.AgentVersion, doctor.Skew(m.Status.AgentVersion, hub)
		}
		all = append(all, one)
	}
	return all
}

func (p *Program) showVersions(out *output, found versions) error {
	if !out.text() {
		return out.printReport(p, "Versions", &found)
	}
	rows := [][]string{{program, found.Client.Version, "", "", found.Client.Go + ", " + found.Client.Platform}}
	if h := found.Hub; h != nil {
		rows = append(rows, []string{"hub", cmp.Or(h.Version, "unknown"), h.Kubernetes, h.Skew, strings.TrimPrefix(h.Image+", "+h.Server, ", ")})
	}
	for _, m := range found.Members {
		version := "agentless"
		if m.Mode == string(v1.ModeAgent) {
			version = cmp.Or(m.Agent, "unknown")
		}
		rows = append(rows, []string{m.Name, version, cmp.Or(m.Kubernetes, "unknown"), m.Skew, ""})
	}
	return out.printTable(p, printers.Rows(rows, []string{"COMPONENT", "VERSION", "KUBERNETES", "SKEW"}, "DETAILS"), false)
}
