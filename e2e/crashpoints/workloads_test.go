package crashpoints_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// workload is something that a user asks for, and what the hub makes of it.
type workload struct {
	name string
	// created tells that the application runs before the step.
	created bool
	// clusters are those that the application is placed on before the step.
	clusters []string
	// database tells that the application has a database, whose volume is in the cloud.
	database bool
	// rollout tells that the application is rolled out region by region.
	rollout bool
	// fleetwide tells that the step is about a member. No other workload runs meanwhile.
	fleetwide bool
	// prepare brings the fleet into the state before the step.
	prepare func(*testing.T, *suite)
	// before asks for what there is to be of the application before the step, and ready returns
	// nil when it is there; both may be nil.
	before func(*testing.T, *suite, *v1.EcommerceApp)
	ready  func(context.Context, *suite, *v1.EcommerceApp) error
	// step is the user's change.
	step func(*testing.T, *suite, *v1.EcommerceApp)
	// regions are those that the application runs in after the step.
	regions []string
	// done returns nil when what the regions do not show is as asked for; it may be nil.
	done func(context.Context, *suite, *v1.EcommerceApp) error
}

func both() []string { return []string{euMember, usMember} }

// workloads returns all of them, those about applications first.
func workloads() []workload {
	return slices.Concat(appWorkloads(), rolloutWorkloads(), dataWorkloads(), memberWorkloads())
}

func appWorkloads() []workload {
	edit := func(change func(*v1.EcommerceAppSpec)) func(*testing.T, *suite, *v1.EcommerceApp) {
		return func(t *testing.T, s *suite, app *v1.EcommerceApp) {
			t.Helper()
			framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { change(&app.Spec) })
		}
	}
	return []workload{
		{
			name: "create", clusters: both(), regions: []string{eu, us},
			step: func(t *testing.T, s *suite, app *v1.EcommerceApp) {
				t.Helper()
				s.Create(t, app)
			},
		},
		{
			name: "edit", created: true, clusters: both(), regions: []string{eu, us},
			step: edit(func(spec *v1.EcommerceAppSpec) { spec.Image = "shop:v2" }),
		},
		{
			name: "scale", created: true, clusters: both(), regions: []string{eu, us},
			step: edit(func(spec *v1.EcommerceAppSpec) { spec.Replicas = new(int32(3)) }),
		},
		{
			name: "move", created: true, clusters: []string{euMember}, regions: []string{us},
			step: func(t *testing.T, s *suite, app *v1.EcommerceApp) {
				t.Helper()
				s.ExpectDeletes(invariants.Expected{Cluster: euMember, Resource: "ecommerceapps", Namespace: app.Namespace, Name: app.Name})
				edit(func(spec *v1.EcommerceAppSpec) { spec.Placement.ClusterNames = []string{usMember} })(t, s, app)
			},
		},
		{
			name: "delete", created: true, clusters: both(),
			step: func(t *testing.T, s *suite, app *v1.EcommerceApp) {
				t.Helper()
				if err := s.Hub.Delete(t.Context(), app); err != nil {
					t.Fatal(err)
				}
			},
			done: func(ctx context.Context, s *suite, app *v1.EcommerceApp) error {
				return framework.Gone(ctx, s.Hub, app.DeepCopy())
			},
		},
	}
}

func memberWorkloads() []workload {
	return []workload{
		{
			name: "join", created: true, clusters: both(), fleetwide: true, regions: []string{eu, us},
			prepare: func(t *testing.T, s *suite) {
				t.Helper()
				s.ensureStranger(t)
			},
			step: func(t *testing.T, s *suite, _ *v1.EcommerceApp) {
				t.Helper()
				s.Register(t, usMember)
			},
			done: memberIs(metav1.ConditionTrue, ""),
		},
		{
			name: "leave", created: true, clusters: both(), fleetwide: true, regions: []string{eu},
			prepare: func(t *testing.T, s *suite) {
				t.Helper()
				s.ensureMember(t)
			},
			step: func(t *testing.T, s *suite, _ *v1.EcommerceApp) {
				t.Helper()
				if err := s.Hub.Delete(t.Context(), registration()); err != nil {
					t.Fatal(err)
				}
			},
			done: memberIs(metav1.ConditionFalse, v1.ReasonSecretNotFound),
		},
		{
			name: "unjoin", created: true, clusters: both(), fleetwide: true, regions: []string{eu},
			prepare: func(t *testing.T, s *suite) {
				t.Helper()
				s.ensureMember(t)
			},
			step: func(t *testing.T, s *suite, _ *v1.EcommerceApp) {
				t.Helper()
				if err := s.Hub.Delete(t.Context(), memberCluster()); err != nil {
					t.Fatal(err)
				}
			},
			done: func(ctx context.Context, s *suite, _ *v1.EcommerceApp) error {
				return framework.Gone(ctx, s.Hub, memberCluster())
			},
		},
		{
			name: "takeover", created: true, clusters: both(), fleetwide: true, regions: []string{eu, us},
			prepare: func(t *testing.T, s *suite) {
				t.Helper()
				s.ensureMember(t)
			},
			step: func(t *testing.T, s *suite, _ *v1.EcommerceApp) {
				t.Helper()
				s.takeOver(t)
			},
			done: tookOver,
		},
	}
}

func registration() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: usMember}}
}

func memberCluster() *v1.MemberCluster {
	return &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: usMember}}
}

var errMember = errors.New("the member is not as asked for")

// memberIs returns a check of the condition Ready of the member that joins and leaves.
func memberIs(status metav1.ConditionStatus, reason string) func(context.Context, *suite, *v1.EcommerceApp) error {
	return func(ctx context.Context, s *suite, _ *v1.EcommerceApp) error {
		m := memberCluster()
		if err := s.Hub.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
			return err
		}
		ready := framework.Condition(m.Status.Conditions, v1.ConditionReady)
		if ready.Status != status || reason != "" && ready.Reason != reason {
			return fmt.Errorf("%w: %+v", errMember, ready)
		}
		return nil
	}
}

// takeOver kills the process of the hub, so that the next one takes the members over.
func (s *suite) takeOver(t *testing.T) {
	t.Helper()
	var err error
	if s.epochs, err = s.epochsOf(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.hub.kill()
}

// tookOver returns nil when another process has taken all members over.
func tookOver(ctx context.Context, s *suite, _ *v1.EcommerceApp) error {
	now, err := s.epochsOf(ctx)
	if err != nil {
		return err
	}
	for name, epoch := range now {
		if epoch <= s.epochs[name] {
			return fmt.Errorf("%w: the epoch in %s is %d", errMember, name, epoch)
		}
	}
	return nil
}

// epochsOf returns the epoch of the record in each member.
func (s *suite) epochsOf(ctx context.Context) (map[string]int64, error) {
	found := map[string]int64{}
	for name, c := range s.Members {
		stored := &corev1.ConfigMap{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: config.HubRecord}, stored); err != nil {
			return nil, err
		}
		r, err := ownership.Parse(stored.Data)
		if err != nil {
			return nil, err
		}
		found[name] = r.Epoch
	}
	return found, nil
}

// ensureMember registers the member that joins and leaves, unless it is registered.
func (s *suite) ensureMember(t *testing.T) {
	t.Helper()
	secret := registration()
	err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)
	if err != nil || secret.Labels[v1.MemberClusterLabel] != "true" {
		s.forgetMember(t)
		s.Register(t, usMember)
	}
	s.AwaitMembers(t, usMember)
	// A copy that is not yet gone when the member leaves would be left behind there.
	s.awaitEmpty(t)
	// A former case may have left a copy behind there when it was no member.
	framework.Await(t, s.Hub, memberCluster(), "what is left behind there to be deleted", func(m *v1.MemberCluster) error {
		if n := m.Status.ResidueCount; n > 0 {
			return fmt.Errorf("%w: %d copies are left behind", errMember, n)
		}
		return nil
	})
}

// ensureStranger makes the member one that the fleet never had: without a registration and
// without our definitions. No application is left there, so that none is lost.
func (s *suite) ensureStranger(t *testing.T) {
	t.Helper()
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "ecommerceapps." + v1.GroupName}}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := s.Members[usMember].Get(t.Context(), client.ObjectKeyFromObject(definition), definition)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err == nil {
		s.ensureMember(t)
	}
	s.forgetMember(t)
	// The record of the hub that managed it.
	if err := s.Members[usMember].DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(config.Namespace)); err != nil {
		t.Fatal(err)
	}
	if err == nil {
		framework.DeleteDefinition(t, s.Members[usMember], definition)
		framework.AwaitGone(t, s.Members[usMember], definition)
	}
}

// forgetMember deletes all that the hub knows of the member.
func (s *suite) forgetMember(t *testing.T) {
	t.Helper()
	for _, o := range []client.Object{registration(), memberCluster()} {
		if err := client.IgnoreNotFound(s.Hub.Delete(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
		framework.AwaitGone(t, s.Hub, o)
	}
}
