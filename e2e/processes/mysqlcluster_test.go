package processes_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testMySQLCluster applies the sample with a finalizer of its user, as in a repository that sets
// one: the database runs as written, the spoke leaves that finalizer alone, and its own goes when
// the database is deleted. TestGolden in spoke/render has what becomes of each field.
func (s *spokeSuite) testMySQLCluster(t *testing.T) {
	t.Helper()
	const namespace, theirs = "mysql", "mysql.example.com/finalizer"
	framework.CreateNamespace(t, s.admin, namespace)
	manifest := bytes.Replace(samples.MySQLCluster(),
		[]byte("  namespace: production\n"), []byte("  namespace: "+namespace+"\n  finalizers:\n  - "+theirs+"\n"), 1)
	db := &mysqlv1.MySQLCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "my-mysql"}}
	finalizers := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, db.Finalizers); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
	}
	for range 2 { // The second time, as a GitOps tool that syncs.
		if err := s.Fleet.Clusters()[0].Apply(t.Context(), manifest); err != nil {
			t.Fatal(err)
		}
		framework.Await(t, s.admin, db, "the database to run", func(db *mysqlv1.MySQLCluster) error {
			if db.Status.Phase != v1.PhaseRunning || db.Status.Ready != "3/3" || !db.Status.StorageProvisioned {
				return fmt.Errorf("%s %s: %s", db.Status.Phase, db.Status.Ready, db.Status.Message)
			}
			return nil
		})
		finalizers(theirs, v1.SpokeFinalizer)
	}
	s.checkMySQL(t, namespace)
	if c := framework.Condition(db.Status.Conditions, v1.ConditionSupported); c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonNotSupported {
		t.Errorf("a managed database is described, and there is none: %+v", c)
	}

	if err := s.admin.Delete(t.Context(), db.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, s.admin, db, "the spoke to remove its finalizer", func(db *mysqlv1.MySQLCluster) error {
		if len(db.Finalizers) > 1 {
			return errors.New(db.Status.Message)
		}
		return nil
	})
	finalizers(theirs)
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "my-mysql"}}
	if err := framework.Gone(t.Context(), s.admin, set); err != nil {
		t.Errorf("the finalizer was removed before the pods: %v", err)
	}
	framework.Edit(t, s.admin, db, func(db *mysqlv1.MySQLCluster) { db.Finalizers = nil })
	framework.AwaitGone(t, s.admin, db)
}

// checkMySQL checks what users see of the sample's fields in the objects of the database.
func (s *spokeSuite) checkMySQL(t *testing.T, namespace string) {
	t.Helper()
	var sets appsv1.StatefulSetList
	var jobs batchv1.CronJobList
	var classes storagev1.StorageClassList
	for _, list := range []client.ObjectList{&sets, &jobs} {
		if err := s.admin.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.admin.List(t.Context(), &classes, client.MatchingLabels{v1.InstanceLabel: "my-mysql"}); err != nil {
		t.Fatal(err)
	}
	if len(sets.Items) != 1 || len(jobs.Items) != 1 || len(classes.Items) != 1 {
		t.Fatalf("%d StatefulSets, %d CronJobs and %d StorageClasses, want one of each", len(sets.Items), len(jobs.Items), len(classes.Items))
	}
	type fields struct {
		Replicas                int32
		Image, Size, Schedule   string
		Class                   string
		Provisioner, Type, IOPS string
	}
	set, class := sets.Items[0].Spec, classes.Items[0]
	claim := set.VolumeClaimTemplates[0].Spec
	got := fields{
		*set.Replicas, set.Template.Spec.Containers[0].Image, claim.Resources.Requests.Storage().String(), jobs.Items[0].Spec.Schedule,
		*claim.StorageClassName, class.Provisioner, class.Parameters["type"], class.Parameters["iops"],
	}
	want := fields{3, "mysql:8.0.33", "100Gi", "0 2 * * *", class.Name, "ebs.csi.aws.com", "gp3", "3000"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}
