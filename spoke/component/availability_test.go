package component_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// replicated returns the components of a shop whose database has two pods, and which is reached
// through an Ingress with a login.
func replicated(change ...func([]component.Component)) []component.Component {
	components := shop()
	components[0] = part("database", nil, service("database"), statefulSet("database", 2, 0))
	components[3] = part("ingress", []string{"frontend"}, deployment("login", 1, 0), ingress(""))
	components[3].Auxiliary, components[4].Auxiliary = true, true
	for _, c := range change {
		c(components)
	}
	return components
}

// serving returns the live objects of that shop, without some of its pods.
func serving(objects ...component.Resource) component.Live {
	return with(with(running(), statefulSet("database", 2, 2), pod("app-database-0", serves("image:1")), pod("app-database-1", serves("image:1")),
		deployment("login", 1, 1), ingress("")), objects...)
}

// newImage gives a component another image.
func newImage(i int, name string) func([]component.Component) {
	return func(components []component.Component) {
		components[i].Objects[0].Resource = deployment(name, 2, 0, written("new", "image:2"))
	}
}

// newDatabase gives the database another image.
func newDatabase(components []component.Component) {
	components[0].Objects[1].Resource = statefulSet("database", 2, 0, withImage("image:2"))
}

func withImage(image string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Annotations = map[string]string{v1.SpecHashAnnotation: image}
		s.Spec.Template = template(image)
	}
}

// rollingTo makes a StatefulSet replace its pods, the primary last.
func rollingTo(image string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		withImage(image)(s)
		s.Status.UpdateRevision, s.Status.UpdatedReplicas = "r2", 1
	}
}

func revision(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{appsv1.StatefulSetRevisionLabel: name} }
}

// TestDecideGatesOnAvailability lists the components that wait, and whose workloads are not
// written.
func TestDecideGatesOnAvailability(t *testing.T) {
	notReady := statefulSet("database", 2, 1)
	backend := newImage(1, "backend")
	tests := map[string]struct {
		components []component.Component
		live       component.Live
		waits      map[string]string
	}{
		"a backend of a new version while a replica is seeded": {replicated(backend), serving(notReady, pod("app-database-1", preparing(0))), map[string]string{}},
		"a backend of a new version while a replica is lost":   {replicated(backend), without(serving(notReady), pod("app-database-1")), map[string]string{}},
		"the first backend while a replica is seeded": {replicated(),
			live(service("database"), notReady, pod("app-database-0", serves("image:1")), pod("app-database-1", preparing(0))), map[string]string{
				"frontend": "Pending waiting for backend", "ingress": "Pending waiting for frontend", "monitoring": "Pending waiting for backend and frontend",
			}},
		"a backend of a new version while the primary is not ready": {replicated(backend), serving(notReady, pod("app-database-0")),
			map[string]string{"backend": "Updating waiting for database"}},
		"a backend and a database of new versions": {replicated(backend, newDatabase), serving(),
			map[string]string{"backend": "Updating waiting for database"}},
		"a backend of a new version while the database is rolled out": {replicated(backend, newDatabase), serving(statefulSet("database", 2, 1, rollingTo("image:2"))),
			map[string]string{"backend": "Updating waiting for database"}},
		"a backend of a new version after the primary, and before a replica": {replicated(backend, newDatabase),
			serving(statefulSet("database", 2, 1, rollingTo("image:2")), pod("app-database-0", serves("image:2"))), map[string]string{}},
		"a primary of the new version whose image a webhook has changed": {replicated(backend, newDatabase),
			serving(statefulSet("database", 2, 1, rollingTo("image:2")), pod("app-database-0", serves("mirror/image:2"), revision("r2"))), map[string]string{}},
		"a backend of a new version while the configuration of the database is rolled out": {replicated(backend),
			serving(statefulSet("database", 2, 1, rollingTo("image:1"))), map[string]string{}},
		"a frontend of a new version while a pod of the backend is lost": {replicated(newImage(2, "frontend")), serving(deployment("backend", 2, 1)), map[string]string{}},
		"a frontend of a new version while the backend is rolled out": {replicated(newImage(2, "frontend")),
			serving(deployment("backend", 2, 2, func(d *appsv1.Deployment) { d.Status.Replicas = 3; d.Status.UpdatedReplicas = 1 })),
			map[string]string{"frontend": "Updating waiting for backend"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{Components: tt.components, Live: tt.live, OwnerUID: owner, Generation: 2, Conditions: initialized(1)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.waits, wait(got.States)); diff != "" {
				t.Errorf("waiting (-want +got):\n%s", diff)
			}
			for _, s := range got.Steps {
				if _, waits := tt.waits[s.Component]; waits && s.Action == component.Apply && component.IsWorkload(s.Object.Resource) {
					t.Errorf("the workload of %s is written", s.Component)
				}
			}
		})
	}
}

// TestAvailable checks whether customers are said to be served, and what they lack.
func TestAvailable(t *testing.T) {
	now := at(0)
	stopped := func(components []component.Component) {
		components[0].Objects[1].Resource = statefulSet("database", 0, 0)
		components[1].Objects[0].Resource = deployment("backend", 0, 0)
	}
	tests := map[string]struct {
		components []component.Component
		live       component.Live
		want       string
	}{
		"all is well":                             {replicated(), serving(), ""},
		"a replica is seeded":                     {replicated(), serving(statefulSet("database", 2, 1), pod("app-database-1", preparing(0))), ""},
		"the primary is not ready":                {replicated(), serving(pod("app-database-0")), "database: pod app-database-0 is not ready"},
		"the primary goes":                        {replicated(), serving(pod("app-database-0", serves("image:1"), func(p *corev1.Pod) { p.DeletionTimestamp = &now })), "database: pod app-database-0 is being deleted"},
		"the primary is lost":                     {replicated(), without(serving(statefulSet("database", 2, 1)), pod("app-database-0")), "database: pod app-database-0 does not exist"},
		"the pods are not cached yet":             {replicated(), without(serving(), pod("app-database-0")), ""},
		"the set is recreated around its pods":    {replicated(), without(serving(), statefulSet("database", 2, 2)), ""},
		"nothing exists":                          {replicated(), live(), "database: StatefulSet app-database does not exist"},
		"a volume is replaced":                    {replicated(stopped), serving(), "database: StatefulSet app-database is scaled to 0 replicas"},
		"the primary runs the version before":     {replicated(newDatabase), serving(statefulSet("database", 2, 1, rollingTo("image:2"))), ""},
		"one backend of two":                      {replicated(), serving(deployment("backend", 2, 1)), ""},
		"no backend":                              {replicated(), serving(deployment("backend", 2, 0)), "backend: Deployment app-backend has no available replica"},
		"no backend, and nothing in front of it":  {replicated(), without(serving(deployment("backend", 2, 0)), deployment("frontend", 3, 3)), "backend: Deployment app-backend has no available replica"},
		"the frontend was deleted":                {replicated(), without(serving(), deployment("frontend", 3, 3)), "frontend: Deployment app-frontend does not exist"},
		"no backend is wanted":                    {replicated(func(c []component.Component) { stopped(c[:2]); c[0] = replicated()[0] }), serving(deployment("backend", 0, 0)), ""},
		"the login is down":                       {replicated(), serving(deployment("login", 1, 0)), ""},
		"the Ingress was deleted":                 {replicated(), without(serving(), ingress("")), "ingress: Ingress app-ingress does not exist"},
		"the dashboard was deleted":               {replicated(), without(serving(), configMap("app-dashboard", "monitoring")), ""},
		"an application without a backend":        {replicated(func(c []component.Component) { c[1] = component.Component{Name: "backend", Disabled: true} }), without(serving(), deployment("backend", 2, 2)), ""},
		"a Deployment that was scaled by another": {replicated(), serving(deployment("backend", 0, 0)), "backend: Deployment app-backend has no available replica"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			decision, err := component.Decide(component.Input{Components: tt.components, Live: tt.live, OwnerUID: owner, Generation: 1, Conditions: initialized(1)})
			if err != nil {
				t.Fatal(err)
			}
			got := component.Summarize(component.SummaryInput{Generation: 1, Now: now, Previous: initialized(1), States: decision.States})
			c := meta.FindStatusCondition(got.Conditions, v1.ConditionAvailable)
			if want := tt.want == ""; (c.Status == metav1.ConditionTrue) != want || !want && c.Message != tt.want {
				t.Errorf("Available is %s: %q, want %q", c.Status, c.Message, tt.want)
			}
		})
	}
}

// TestAvailableUnobserved checks what is said where the components do not tell.
func TestAvailableUnobserved(t *testing.T) {
	down := component.State{Name: "web", Phase: v1.PhaseDeleting, Unavailable: "nothing is left"}
	tests := map[string]struct {
		in      component.SummaryInput
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"nothing was read": {component.SummaryInput{Problems: []component.Problem{{Reason: v1.ReasonApplyFailed, Message: "timed out"}}},
			metav1.ConditionUnknown, v1.ReasonApplyFailed, "timed out"},
		"the spec cannot be rendered": {component.SummaryInput{Problems: []component.Problem{{Reason: v1.ReasonInvalidSpec, Message: "spec.x must be y", Blocking: true}}},
			metav1.ConditionUnknown, v1.ReasonInvalidSpec, "spec.x must be y"},
		"a write failed": {component.SummaryInput{States: []component.State{ready("web")}, Problems: []component.Problem{{Component: "web", Reason: v1.ReasonApplyFailed, Message: "timed out"}}},
			metav1.ConditionTrue, v1.ReasonAvailable, "customers can be served"},
		"deleted": {component.SummaryInput{Deleting: true, States: []component.State{down}}, metav1.ConditionFalse, v1.ReasonDeleting, "the application is being deleted"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := meta.FindStatusCondition(component.Summarize(tt.in).Conditions, v1.ConditionAvailable)
			if c.Status != tt.status || c.Reason != tt.reason || c.Message != tt.message {
				t.Errorf("Available is %s, %s: %q", c.Status, c.Reason, c.Message)
			}
		})
	}
}
