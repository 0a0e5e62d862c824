package join

import (
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
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/manifests"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watch"
	"github.com/shopfleet/shopfleet/config"
)

// Why an agent is not removed, or not yet.
var (
	errAgentNeeded   = errors.New("its agent runs shops")
	errNotHandedOver = errors.New("shops have not been handed over")
)

// handOverPeriod is the time between looks at copies that are handed over.
const handOverPeriod = 500 * time.Millisecond

// Agent is the spoke in a member.
type Agent struct {
	Member Member
	// Image is the whole reference of its image. Empty: the one that it has, so that a
	// renewal of the token does not take it from a registry that was named once, and
	// Default where there is no agent yet.
	Image, Default string
	// Query follows objects of the member.
	Query watch.Query
	// Say is told, line by line, what is done.
	Say func(format string, args ...any)
}

func (a Agent) plan(image string) (manifests.Plan, error) {
	objects, err := config.Spoke.Install(config.Installation{Image: image})
	if err != nil {
		return manifests.Plan{}, fmt.Errorf("reading the manifests of the agent: %w", err)
	}
	return manifests.Plan{Objects: objects}, nil
}

func (a Agent) tell(done manifests.Result) {
	if done.Action != manifests.Unchanged {
		a.Say("  %s", done)
	}
}

// image returns the image to install.
func (a Agent) image(ctx context.Context) (string, error) {
	if a.Image != "" {
		return a.Image, nil
	}
	deployment := &appsv1.Deployment{}
	err := a.Member.Client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: config.SpokeServiceAccount}, deployment)
	switch {
	case apierrors.IsNotFound(err):
		return a.Default, nil
	case err != nil:
		return "", fmt.Errorf("looking for an agent on the member: %w", err)
	case len(deployment.Spec.Template.Spec.Containers) == 0:
		return a.Default, nil
	}
	return deployment.Spec.Template.Spec.Containers[0].Image, nil
}

// Install applies the agent and waits until its pods are ready.
func (a Agent) Install(ctx context.Context) error {
	image, err := a.image(ctx)
	if err != nil {
		return err
	}
	plan, err := a.plan(image)
	if err != nil {
		return err
	}
	a.Say("  the agent's image is %s", image)
	if err := plan.Apply(ctx, a.Member.Client, a.tell); err != nil {
		return err
	}
	return manifests.Rollout{
		Query: a.Query, Namespace: config.Namespace, Name: config.SpokeServiceAccount,
		Report: func(progress string) { a.Say("  %s", progress) },
	}.Wait(ctx)
}

// Unneeded refuses while the member has copies, which only the agent could run or
// clean up.
func (a Agent) Unneeded(ctx context.Context) error {
	copies, err := a.Member.copies(ctx)
	if err != nil || len(copies) == 0 {
		return err
	}
	return hint.With(fmt.Errorf("removing the agent: %w: %d, for example %s/%s", errAgentNeeded, len(copies), copies[0].Namespace, copies[0].Name),
		"Nothing was changed. Move the shops away by their placement first, or join with --mode agentless, or leave --remove-agent out.")
}

// Remove deletes the agent and its permissions, but no definition and no namespace.
func (a Agent) Remove(ctx context.Context) error {
	plan, err := a.plan(a.Default)
	if err != nil {
		return err
	}
	for _, part := range []manifests.Plan{plan.Deployments(), plan.Surroundings()} {
		if err := part.Remove(ctx, a.Member.Client, a.tell); err != nil {
			return err
		}
	}
	return nil
}

// set is what the hub may do in a member of the mode.
func set(mode v1.Mode) config.Set {
	if mode == v1.ModeAgent {
		return config.Agent
	}
	return config.Member
}

// Narrow takes away what the hub may do only in members of another mode than this,
// once it has changed over. Coming from the agent, it waits until the hub has all
// copies: nobody else could take those that the agent has.
func (m Member) Narrow(ctx context.Context, mode v1.Mode) error {
	if mode == v1.ModeAgent {
		return m.drop(ctx, rolesOf(config.MemberClusterRole))
	}
	err := wait.PollUntilContextCancel(ctx, handOverPeriod, true, func(ctx context.Context) (bool, error) {
		copies, err := m.copies(ctx)
		for i := range copies {
			if copies[i].ManagedByMode() != mode.ManagedBy() {
				return false, err
			}
		}
		return err == nil, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.With(fmt.Errorf("removing the agent's part: %w", errNotHandedOver),
			"The hub goes on with it. Do not remove the agent until this command succeeds.")
	}
	if err != nil {
		return err
	}
	return m.drop(ctx, rolesOf(config.AgentRole))
}

// copies are what a hub has in the member; none where there is no such kind.
func (m Member) copies(ctx context.Context) ([]v1.EcommerceApp, error) {
	list := &v1.EcommerceAppList{}
	if err := m.Client.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("listing the shops of the member: %w", err)
	}
	var copies []v1.EcommerceApp
	for i := range list.Items {
		if list.Items[i].IsCopy() {
			copies = append(copies, list.Items[i])
		}
	}
	return copies, nil
}

// rolesOf are the objects that a role of the hub consists of, bindings first.
func rolesOf(name string) []client.Object {
	here := metav1.ObjectMeta{Namespace: config.Namespace, Name: name}
	everywhere := metav1.ObjectMeta{Name: name}
	return []client.Object{
		&rbacv1.ClusterRoleBinding{ObjectMeta: everywhere}, &rbacv1.ClusterRole{ObjectMeta: everywhere},
		&rbacv1.RoleBinding{ObjectMeta: here}, &rbacv1.Role{ObjectMeta: here},
	}
}

// drop deletes objects. What is gone already is fine.
func (m Member) drop(ctx context.Context, objects []client.Object) error {
	for _, object := range objects {
		if err := client.IgnoreNotFound(m.Client.Delete(ctx, object)); err != nil {
			return fmt.Errorf("deleting %T %q: %w", object, object.GetName(), err)
		}
	}
	return nil
}
