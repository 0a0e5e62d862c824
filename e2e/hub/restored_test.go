package hub_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// testRestored checks hubs that were restored from an older backup.
func (s *suite) testRestored(t *testing.T) {
	t.Run("restored hub overwrites nothing newer", s.testRestoredHub)
	t.Run("hub with new UIDs adopts what runs", s.testNewUIDs)
}

// testRestoredHub gives members what a hub wrote there after the backup that the hub was
// restored from: a newer copy, a copy of an application that the hub has under another UID,
// the deletion of an application, and a copy of one that has moved.
func (s *suite) testRestoredHub(t *testing.T) {
	newer, anew, gone := small("newer", "eu-1"), small("created-anew", "eu-1"), small("gone", "eu-1")
	s.Create(t, newer)
	s.awaitCopies(t, newer, "eu-1")
	s.StopHub()
	s.editCopy(t, newer, func(copied *v1.EcommerceApp) {
		copied.Annotations[v1.HubGenerationAnnotation], copied.Spec.Image = "3", "shop:v9"
	})
	s.Create(t, anew)
	s.copyOf(t, anew, "of-old", "5")
	s.Create(t, gone)
	s.recordDeletion(t, gone)
	moved := s.moved(t)

	s.StartHub(t)
	for app, reason := range map[*v1.EcommerceApp]string{
		newer: v1.ReasonNewerInMember, anew: v1.ReasonNewerInMember, gone: v1.ReasonDeletedInMember,
	} {
		s.awaitReason(t, app, "eu-1", reason)
	}
	s.awaitReason(t, moved, "us-1", v1.ReasonNewerElsewhere)
	s.checkFound(t, gone, moved)
	// Edits that reach the generation of the copy are no answer.
	for _, image := range []string{"shop:v2", "shop:v1"} {
		framework.Edit(t, s.Hub, newer, func(app *v1.EcommerceApp) { app.Spec.Image = image })
	}

	s.settle(t, gone, "overwrite")
	s.AwaitRunning(t, gone, eu)
	for _, app := range []*v1.EcommerceApp{newer, anew, moved} {
		if image := s.copyIn(t, app).Spec.Image; image != "shop:v9" {
			t.Errorf("the newer copy of %s got the image %s", app.Name, image)
		}
	}
	framework.CLI(t, s.Fleet.Hub(), "recover", "overwrite", newer.Name, "-n", newer.Namespace, "--dry-run=server").
		Want(t, framework.Done, "newer overwrite approved in eu-1 (server dry run)")
	framework.CLI(t, s.Fleet.Hub(), "recover", "overwrite", newer.Name, "-n", newer.Namespace, "--member", "eu-1,none").
		Want(t, framework.Failed, `finding member "none"`)
	s.settle(t, newer, "overwrite")
	s.AwaitRunning(t, newer, eu)
	framework.Edit(t, s.Hub, moved, func(app *v1.EcommerceApp) { app.Spec.Placement.ClusterNames = []string{"eu-1"} })
	s.awaitReason(t, moved, "eu-1", v1.ReasonNewerInMember)
	for app, image := range map[*v1.EcommerceApp]string{newer: "shop:v1", anew: "shop:v9", moved: "shop:v9"} {
		before := s.copyIn(t, app)
		if app != newer {
			s.awaitListed(t, app)
			s.settle(t, app, "import", "--member", "eu-1")
		}
		s.AwaitRunning(t, app, eu)
		copied := s.copyIn(t, app)
		if copied.Generation != before.Generation || copied.Spec.Image != image || app.Spec.Image != image || app.Spec.Placement.ClusterNames == nil {
			t.Errorf("%s has the image %s on the hub and %s in the member, want %s", app.Name, app.Spec.Image, copied.Spec.Image, image)
		}
	}
	framework.CLI(t, s.Fleet.Hub(), "recover", "list", "-n", "small").Want(t, framework.Done, "No decision is pending")
	framework.CLI(t, s.Fleet.Hub(), "recover", "overwrite", newer.Name, "-n", newer.Namespace).
		Want(t, framework.Failed, "no decision is pending", "kubectl shopfleet recover list -A")
	for _, app := range []*v1.EcommerceApp{newer, anew, gone, moved} {
		s.Delete(t, app)
	}
}

// checkFound checks what the plugin shows, and that nothing was created.
func (s *suite) checkFound(t *testing.T, gone, moved *v1.EcommerceApp) {
	t.Helper()
	framework.CLI(t, s.Fleet.Hub(), "recover", "list", "-A").Want(t, framework.Done,
		"generation 3, the hub has 1", "another application", "its deletion", "placement, overwrite")
	framework.CLI(t, s.Fleet.Hub(), "recover", "list", "newer", "-n", "small", "-o", "name").
		Want(t, framework.Done, "ecommerceapp.ecommerce.io/newer")
	if err := framework.Gone(t.Context(), s.Members["eu-1"], gone.DeepCopy()); err != nil {
		t.Errorf("an application that was deleted runs again: %v", err)
	}
	if err := framework.Gone(t.Context(), s.Members["us-1"], moved.DeepCopy()); err != nil {
		t.Errorf("an application that has moved runs where it was before: %v", err)
	}
}

// moved makes an application that ran in us-1 at the time of the backup, and runs in eu-1 now.
func (s *suite) moved(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	app := small("moved", "us-1")
	app.Finalizers = []string{v1.HubFinalizer}
	s.Create(t, app)
	app.Status.ObservedGeneration, app.Status.ClusterCount = app.Generation, 1
	app.Status.Clusters = []v1.ClusterStatus{{Name: "us-1", Phase: v1.PhaseRunning, Ready: true, AppliedGeneration: app.Generation}}
	if err := s.Hub.Status().Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	s.copyOf(t, app, string(app.UID), "99")
	return app
}

// copyOf makes a newer copy of an application in eu-1.
func (s *suite) copyOf(t *testing.T, app *v1.EcommerceApp, uid, generation string) {
	t.Helper()
	other := small(app.Name)
	other.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy}
	other.Annotations = map[string]string{v1.HubAppUIDAnnotation: uid, v1.HubGenerationAnnotation: generation}
	other.Spec.Image, other.Spec.Placement = "shop:v9", v1.Placement{}
	framework.Create(t, s.Members["eu-1"], other)
}

// settle runs a verb of recover.
func (s *suite) settle(t *testing.T, app *v1.EcommerceApp, verb string, flags ...string) {
	t.Helper()
	args := append([]string{"recover", verb, app.Name, "-n", app.Namespace, "--yes"}, flags...)
	framework.CLI(t, s.Fleet.Hub(), args...).Want(t, framework.Done)
}

// awaitListed blocks until the hub lists the copy in eu-1, for it to be imported.
func (s *suite) awaitListed(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	uid := string(s.copyIn(t, app).UID)
	list := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: recovery.OrphansName("eu-1")}}
	framework.Await(t, s.Hub, list, app.Name+" to be listed", func(list *corev1.ConfigMap) error {
		if list.Data[uid] == "" {
			return errNotListed
		}
		return nil
	})
}

// testNewUIDs creates an application and a member again, as a tool such as Velero does, on a
// hub that is not the one in the member's record.
func (s *suite) testNewUIDs(t *testing.T) {
	app := small("again", "eu-1")
	s.Create(t, app)
	s.AwaitRunning(t, app, eu)
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-1"}}
	before := framework.MarkSettled(t, s.Fleet, app.Namespace, config.HubServiceAccount)
	s.StopHub()
	s.editRecord(t, func(r ownership.Record) ownership.Record {
		return ownership.Record{Hub: "former", Epoch: 41, Deleted: r.Deleted}
	})
	former := app.UID
	for _, o := range []client.Object{app, member, secret} {
		framework.Edit(t, s.Hub, o, func(o client.Object) { o.SetFinalizers(nil) })
		s.Delete(t, o)
	}
	s.Register(t, "eu-1")
	app = small("again", "eu-1")
	s.Create(t, app)
	s.StartHub(t)

	framework.AwaitCondition(t, s.Hub, member, metav1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonManagedByAnotherHub,
	})
	framework.CLI(t, s.Fleet.Hub(), "recover", "list").Want(t, framework.Done, "eu-1", v1.ReasonManagedByAnotherHub, "hub former", "take-over")
	framework.Session{In: strings.NewReader("n\n")}.CLI(t, s.Fleet.Hub(), "recover", "take-over", "eu-1").
		Want(t, framework.Done, "take eu-1 over from the hub with the UID former", "recovery is cancelled")
	framework.CLI(t, s.Fleet.Hub(), "recover", "take-over", "us-1").Want(t, framework.Failed, "no decision is pending")
	if log := s.Since(t, before, s.Fleet.Member("eu-1")).Writes().Except("selfsubjectaccessreviews", "selfsubjectrulesreviews"); len(log) > 0 {
		t.Errorf("the hub wrote to a member of another one:\n%s", log)
	}
	framework.CLI(t, s.Fleet.Hub(), "recover", "take-over", "eu-1", "--yes").
		Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 take-over approved")
	s.AwaitMembers(t, "eu-1")
	s.AwaitRunning(t, app, eu)
	if log := s.Since(t, before, s.Fleet.Member("eu-1")).Writes().In(app.Namespace).Except("ecommerceapps"); len(log) > 0 || app.UID == former {
		t.Errorf("adopting a copy with the same spec wrote:\n%s", log)
	}
	if uid := s.copyIn(t, app).Annotations[v1.HubAppUIDAnnotation]; uid != string(app.UID) {
		t.Errorf("the copy is of %s, want %s", uid, app.UID)
	}
	s.editRecord(t, func(r ownership.Record) ownership.Record {
		if r.Hub == "former" || r.Epoch != 42 {
			t.Errorf("the record is %+v after the takeover", r)
		}
		return r
	})
	s.Delete(t, app)
}

// copyIn returns the copy of an application in eu-1.
func (s *suite) copyIn(t *testing.T, app *v1.EcommerceApp) *v1.EcommerceApp {
	t.Helper()
	copied := &v1.EcommerceApp{}
	if err := s.Members["eu-1"].Get(t.Context(), client.ObjectKeyFromObject(app), copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

func (s *suite) editCopy(t *testing.T, app *v1.EcommerceApp, change func(*v1.EcommerceApp)) {
	t.Helper()
	framework.Edit(t, s.Members["eu-1"], app.DeepCopy(), change)
}

// recordDeletion adds a deletion to the record in eu-1.
func (s *suite) recordDeletion(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	s.editRecord(t, func(r ownership.Record) ownership.Record {
		return r.Delete(ownership.Deletion{App: app.UID, At: time.Now()})
	})
}

// editRecord changes the record in eu-1.
func (s *suite) editRecord(t *testing.T, change func(ownership.Record) ownership.Record) {
	t.Helper()
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubRecord}}
	framework.Edit(t, s.Members["eu-1"], kept, func(kept *corev1.ConfigMap) {
		r, err := ownership.Parse(kept.Data)
		if err != nil {
			t.Fatal(err)
		}
		kept.Data = change(r).Data()
	})
}

func (s *suite) awaitReason(t *testing.T, app *v1.EcommerceApp, member, reason string) {
	t.Helper()
	s.AwaitApp(t, app, reason+" to show", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, member); c.Reason != reason {
			return fmt.Errorf("%s %q: %w", c.Reason, c.Message, errOtherReason)
		}
		return nil
	})
}

var (
	errOtherReason = errors.New("another reason")
	errNotListed   = errors.New("not listed")
)
