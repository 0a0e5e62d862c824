package crashpoints_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

const (
	// backupName and restoreName are the names of all Backups and Restores.
	backupName, restoreName = "backup", "restore"
	// snapshotGroup is that of the objects by which a driver makes a volume from a snapshot.
	snapshotGroup = "snapshot.storage.k8s.io"
)

const (
	// skipAfter is longer than a new process takes until it has looked at all Backups.
	skipAfter = 3 * time.Second
	// lostAfter is longer than a Backup takes if no response is lost, as one is on a machine that is too
	// busy for the timeouts of the tests.
	lostAfter = 20 * time.Second
	// duplicateWindow is how long the hub looks for duplicates of a snapshot that was requested
	// twice.
	duplicateWindow = 10 * time.Minute
)

var errData = errors.New("not completed")

// dataWorkloads returns the workloads with the data of an application with a database in the cloud.
func dataWorkloads() []workload {
	return []workload{
		{
			name: "backup", created: true, database: true, clusters: []string{euMember}, regions: []string{eu},
			step: func(t *testing.T, s *suite, app *v1.EcommerceApp) {
				t.Helper()
				s.Create(t, newBackup(app, copyRegion))
			},
			done: backedUp,
		},
		{
			name: "restore", created: true, database: true, clusters: []string{euMember}, regions: []string{eu},
			before: func(t *testing.T, s *suite, app *v1.EcommerceApp) {
				t.Helper()
				s.Create(t, newBackup(app))
			},
			ready: backedUp,
			step: func(t *testing.T, s *suite, app *v1.EcommerceApp) {
				t.Helper()
				s.Create(t, &v1.Restore{
					ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: restoreName},
					Spec:       v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backupName}, Overwrite: true},
				})
			},
			done: restored,
		},
	}
}

func newBackup(app *v1.EcommerceApp, copyTo ...string) *v1.Backup {
	return &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: backupName},
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: app.Name}, ClusterRef: v1.ObjectReference{Name: euMember}, CopyToRegions: copyTo,
		},
	}
}

// newDatabase returns the smallest database.
func newDatabase() *v1.Database {
	return &v1.Database{Engine: v1.EnginePostgreSQL, Version: "13.4", Storage: "1Gi"}
}

// backedUp returns nil when the Backup of an application is complete, copies included.
func backedUp(ctx context.Context, s *suite, app *v1.EcommerceApp) error {
	b := newBackup(app)
	if err := s.Hub.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
		return err
	}
	if b.Status.Phase != v1.BackupCompleted {
		return fmt.Errorf("%w: the Backup is %s: %+v", errData, b.Status.Phase, b.Status.Conditions)
	}
	return nil
}

// restored returns nil when the Restore of an application is complete.
func restored(ctx context.Context, s *suite, app *v1.EcommerceApp) error {
	r := &v1.Restore{}
	if err := s.Hub.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: restoreName}, r); err != nil {
		return err
	}
	if r.Status.Phase != v1.RestoreCompleted {
		return fmt.Errorf("%w: the Restore is %s: %+v", errData, r.Status.Phase, r.Status.Conditions)
	}
	return nil
}

// skippingClock is the real clock, and what was skipped. It is safe for concurrent use.
type skippingClock struct {
	clock.RealClock

	mu    sync.Mutex
	ahead time.Duration
}

// skip lets time pass.
func (c *skippingClock) skip(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// Now returns the time.
func (c *skippingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

// Since returns the time since another.
func (c *skippingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// skips returns a function that lets the time pass in which the cloud may not show what it has
// made. It does so after a time in which the hub looks at what is shown.
func (r *run) skips(after time.Duration) func() {
	begin, left := time.Now(), []time.Duration{cloud.VisibilityWindow, duplicateWindow}
	return func() {
		if r.name == "backup" && len(left) > 0 && time.Since(begin) > after {
			r.hub.clock.skip(left[0])
			begin, left = time.Now(), left[1:]
		}
	}
}

// owners returns where objects without a namespace of their own have that of the data in them.
func owners() map[schema.GroupVersionKind][]string {
	return map[schema.GroupVersionKind][]string{
		{Version: "v1", Kind: "PersistentVolume"}:                            {"spec", "claimRef", "namespace"},
		{Group: snapshotGroup, Version: "v1", Kind: "VolumeSnapshotContent"}: {"spec", "volumeSnapshotRef", "namespace"},
	}
}

// owner returns the function that looks up in the member with volumes to which namespace what is written belongs.
func (r *run) owner(ctx context.Context) func(write) string {
	return func(w write) string {
		for kind, field := range owners() {
			resource, _ := meta.UnsafeGuessKindToResource(kind)
			if !r.database || w.Cluster != euMember || w.Name == "" || w.Resource != resource.GroupResource().String() {
				continue
			}
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(kind)
			if err := r.Members[euMember].Get(ctx, client.ObjectKey{Name: w.Name}, o); err != nil {
				return ""
			}
			namespace, _, _ := unstructured.NestedString(o.Object, field...)
			return namespace
		}
		return ""
	}
}

// leaveData deletes the Backup and the Restore of a run. What is in the cloud stays.
func (r *run) leaveData(t *testing.T) {
	t.Helper()
	if !r.database {
		return
	}
	name := metav1.ObjectMeta{Namespace: r.app.Namespace, Name: restoreName}
	for _, o := range []client.Object{&v1.Restore{ObjectMeta: name}, newBackup(r.app)} {
		if err := client.IgnoreNotFound(r.Hub.Delete(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
}

// kept returns the kinds of objects that stay when the application is deleted: those with data, and
// the revisions, because the hub's cluster has no garbage collector.
func (r *run) kept() []string {
	switch {
	case r.database:
		return []string{" PersistentVolumeClaim ", " PersistentVolume ", " Secret ", " snapshot ", " volume "}
	case r.rollout:
		return []string{" ControllerRevision "}
	}
	return nil
}

// leftBehind returns the objects that should have gone with the application.
func (r *run) leftBehind(found state) []string {
	return slices.DeleteFunc(found.names(), func(name string) bool {
		return slices.ContainsFunc(r.kept(), func(kind string) bool { return strings.Contains(name, kind) })
	})
}
