package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watchuntil"
	"github.com/shopfleet/shopfleet/config"
)

var (
	// ErrNotHandedOver is returned if the hub does not take the EcommerceApps of an agent over in time.
	ErrNotHandedOver = errors.New("EcommerceApps have not been handed over")
	errAgentNeeded   = errors.New("its agent runs EcommerceApps")
)

// handoverPeriod is the time between checks of copies that are handed over.
const handoverPeriod = 500 * time.Millisecond

// Agent is the installation of a spoke in a member.
type Agent struct {
	Member Member
	// Image is the full reference of the image. If it is empty, the current image is
	// kept, so that renewing the token does not change it; Default is for the first
	// installation.
	Image, Default string
	// PullSecrets are the names of Secrets with which nodes pull the image. Without any, the current ones are kept too.
	PullSecrets []string
	// RunbookURL is the page that the alerts of shops link to. If it is empty, the current one is kept too.
	RunbookURL string
	// DryRun makes Install and Remove send dry-run requests only.
	DryRun bool
	// Query watches the member.
	Query watchuntil.Query
	// Say prints a line about the progress.
	Say func(format string, args ...any)
}

func (a Agent) plan(wanted config.Installation) (installer.Plan, error) {
	objects, err := config.Spoke.Install(wanted)
	if err != nil {
		return installer.Plan{}, fmt.Errorf("reading the manifests of the agent: %w", err)
	}
	return installer.Plan{Objects: objects}, nil
}

func (a Agent) report(done installer.Result) error {
	if done.Action != installer.Unchanged {
		a.Say("  %s", done)
	}
	return nil
}

// wanted returns the image, the pull Secrets and the page of the runbook to install.
func (a Agent) wanted(ctx context.Context) (config.Installation, error) {
	wanted := config.Installation{Image: a.Image, PullSecrets: a.PullSecrets, RunbookURL: a.RunbookURL}
	if a.Image == "" {
		wanted.Image = a.Default
	}
	deployment := &appsv1.Deployment{}
	err := a.Member.Client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: config.SpokeServiceAccount}, deployment)
	switch {
	case apierrors.IsNotFound(err):
		return wanted, nil
	case err != nil:
		return wanted, fmt.Errorf("looking for an agent on the member: %w", err)
	}
	if current := deployment.Spec.Template.Spec.Containers; len(current) > 0 {
		wanted.Image = cmp.Or(a.Image, current[0].Image)
		wanted.RunbookURL = cmp.Or(a.RunbookURL, config.RunbookURL(current[0].Args))
	}
	if len(a.PullSecrets) == 0 {
		wanted.PullSecrets = installer.PullSecrets(deployment)
	}
	return wanted, nil
}

// Install applies the agent and waits until its pods are ready.
func (a Agent) Install(ctx context.Context) error {
	wanted, err := a.wanted(ctx)
	if err != nil {
		return err
	}
	plan, err := a.plan(wanted)
	if err != nil {
		return err
	}
	a.Say("  installing the agent with image %s", wanted.Image)
	plan.DryRun = a.DryRun
	if err := plan.Apply(ctx, a.Member.Client, a.report); err != nil || a.DryRun {
		return err
	}
	return installer.Rollout{
		Query: a.Query, Namespace: config.Namespace, Name: config.SpokeServiceAccount,
		Report: func(progress string) { a.Say("  %s", progress) },
	}.Wait(ctx)
}

// CheckUnused returns an error if the member has copies, which only the agent reconciles
// and finalizes.
func (a Agent) CheckUnused(ctx context.Context) error {
	copies, err := a.Member.copies(ctx)
	if err != nil || len(copies) == 0 {
		return err
	}
	return hint.With(fmt.Errorf("deleting the agent: %w: %d, for example %s/%s", errAgentNeeded, len(copies), copies[0].Namespace, copies[0].Name),
		"Nothing was changed. Change the placement of the EcommerceApps first, or join with --mode agentless, or omit --delete-agent.")
}

// Remove deletes the agent and its permissions, but neither CRDs nor the Namespace.
func (a Agent) Remove(ctx context.Context) error {
	plan, err := a.plan(config.Installation{Image: a.Default})
	if err != nil {
		return err
	}
	plan.DryRun = a.DryRun
	for _, part := range []installer.Plan{plan.Deployments(), plan.Surroundings()} {
		if err := part.Remove(ctx, a.Member.Client, a.report); err != nil {
			return err
		}
	}
	return nil
}

// set returns the manifests of the hub's permissions in a member of the mode.
func set(mode v1.Mode) config.Set {
	if mode == v1.ModeAgent {
		return config.Agent
	}
	return config.Member
}

// Narrow revokes the permissions that the hub needs only in the other mode, after the
// switch. Switching from the agent, it waits until all copies are managed by the hub,
// which needs the permissions to take them over. After the deadline of ctx it returns ErrNotHandedOver.
func (m Member) Narrow(ctx context.Context, mode v1.Mode) error {
	if mode == v1.ModeAgent {
		return m.remove(ctx, rolesOf(config.MemberClusterRole))
	}
	err := wait.PollUntilContextCancel(ctx, handoverPeriod, true, func(ctx context.Context) (bool, error) {
		copies, err := m.copies(ctx)
		for i := range copies {
			if copies[i].ManagedByMode() != mode.ManagedBy() {
				return false, err
			}
		}
		return err == nil, err
	})
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return hint.With(fmt.Errorf("revoking the permissions for the agent: %w", ErrNotHandedOver),
			"The hub continues with the handover. Do not delete the agent before this command succeeds.")
	}
	if err != nil {
		return err
	}
	return m.remove(ctx, rolesOf(config.AgentRole))
}

// copies returns the copies that a hub has in the member; none if the CRD is not installed.
func (m Member) copies(ctx context.Context) ([]v1.EcommerceApp, error) {
	list := &v1.EcommerceAppList{}
	if err := m.Client.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("listing the EcommerceApps of the member: %w", err)
	}
	var copies []v1.EcommerceApp
	for i := range list.Items {
		if list.Items[i].IsCopy() {
			copies = append(copies, list.Items[i])
		}
	}
	return copies, nil
}

// rolesOf returns the RBAC objects of one role of the hub, bindings first.
func rolesOf(name string) []client.Object {
	namespaced := metav1.ObjectMeta{Namespace: config.Namespace, Name: name}
	clusterWide := metav1.ObjectMeta{Name: name}
	return []client.Object{
		&rbacv1.ClusterRoleBinding{ObjectMeta: clusterWide}, &rbacv1.ClusterRole{ObjectMeta: clusterWide},
		&rbacv1.RoleBinding{ObjectMeta: namespaced}, &rbacv1.Role{ObjectMeta: namespaced},
	}
}

// remove deletes objects that may already be gone.
func (m Member) remove(ctx context.Context, objects []client.Object) error {
	for _, object := range objects {
		if err := client.IgnoreNotFound(m.Client.Delete(ctx, object)); err != nil {
			return fmt.Errorf("deleting %T %q: %w", object, object.GetName(), err)
		}
	}
	return nil
}
