package restore

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts"
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
)

const (
	checksum   = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	dumpPrefix = "shopfleet/hub-1/app-1/nightly-0123abcd"
	dumpFile   = "backup-20260302T020000Z.dump"
)

func stageTime() time.Time { return time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC) }

// stage is a member with a shop whose database is ready, and the Restore of a dump.
type stage struct {
	client.Writer
	objects map[string]client.Object
	pods    []corev1.Pod
	did     []string
	// refuses answers what is created of a type.
	refuses map[string]error
	// saved is the status as it was written down last, conflict what the hub says to a write.
	saved    v1.RestoreStatus
	conflict error
	image    string
	restore  *v1.Restore
	backup   *v1.Backup
	cluster  string
	bucket   stageBucket
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{
		objects: map[string]client.Object{}, refuses: map[string]error{}, image: "spoke:1", cluster: "eu-1", bucket: stageBucket{name: "dumps"},
		restore: &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "monday", UID: "r-1"}},
		backup: &v1.Backup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "nightly", UID: "b-1"},
			Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupDump},
			Status: v1.BackupStatus{
				Phase: v1.BackupCompleted, AppUID: "app-1", Account: "prod", Engine: v1.EnginePostgreSQL, Version: "15.4",
				SnapshotTime: &metav1.Time{Time: stageTime()},
				Dump:         &v1.DumpFile{Claim: "shop-database-backup", File: dumpFile, Bytes: 1 << 20, SHA256: checksum},
			},
		},
	}
	s.put(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop-database-backup"}})
	s.place()
	m := logicalbackup.ManifestOf("hub-1", s.backup)
	m.CompletionTime = stageTime()
	text, err := m.Write()
	if err != nil {
		t.Fatal(err)
	}
	s.bucket.manifest = text
	return s
}

// place places the shop in the member.
func (s *stage) place() {
	s.put(&v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", UID: "copy-1"},
		Spec: v1.EcommerceAppSpec{
			Image:    "shop:1",
			Database: &v1.Database{Engine: v1.EnginePostgreSQL, Version: "15.6", Storage: "10Gi"},
		},
	})
	s.pods = []corev1.Pod{pod("shop-database-0", map[string]string{v1.ComponentLabel: "database"})}
}

// pod is one of the shop that runs and is ready.
func pod(name string, with map[string]string) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name, Labels: map[string]string{v1.InstanceLabel: "shop", v1.PartOfLabel: "ecommerceapp"}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{
			Type: corev1.PodReady, Status: corev1.ConditionTrue,
		}}},
	}
	maps.Copy(p.Labels, with)
	return p
}

func stageKey(o client.Object, name string) string {
	return strings.TrimPrefix(fmt.Sprintf("%T ", o), "*") + name
}

func (s *stage) put(o client.Object) { s.objects[stageKey(o, o.GetName())] = o }

// annotate says that another Restore works on the database.
func (s *stage) annotate(annotation string) {
	s.objects["v1.EcommerceApp shop"].SetAnnotations(map[string]string{annotation: "tuesday"})
}

// copied is the shop's copy, nil if there is none.
func (s *stage) copied() *v1.EcommerceApp {
	app, _ := s.objects["v1.EcommerceApp shop"].(*v1.EcommerceApp)
	return app.DeepCopy()
}

// job is the only Job.
func (s *stage) job(t *testing.T) *batchv1.Job {
	t.Helper()
	var found *batchv1.Job
	for _, o := range s.objects {
		if job, is := o.(*batchv1.Job); is && len(job.Status.Conditions) == 0 {
			if found != nil {
				t.Fatalf("there are two Jobs: %s and %s", found.Name, job.Name)
			}
			found = job
		}
	}
	if found == nil {
		t.Fatalf("there is no Job that runs: %s", s.did)
	}
	return found
}

// ends lets the Job end by what a container of its pod does.
func (s *stage) ends(t *testing.T, container string, code int32) {
	t.Helper()
	job := s.job(t)
	condition := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonBackoffLimitExceeded, Message: "no more"}
	if code == 0 {
		condition.Type = batchv1.JobComplete
	}
	job.Status.Conditions = []batchv1.JobCondition{condition}
	p := pod(job.Name+"-x", job.Spec.Template.Labels)
	p.Labels["job-name"] = job.Name
	p.OwnerReferences = []metav1.OwnerReference{{UID: job.UID, Controller: new(true)}}
	p.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name: container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: "said", FinishedAt: metav1.NewTime(stageTime())}},
	}}}
	s.pods = append(s.pods, p)
}

// shop returns the shopLoad that one reconciliation of the hub works with.
func (s *stage) shop() shopLoad {
	shop := shopLoad{dumpLoad: dumpLoad{
		restore: s.restore, backup: s.backup, clusterName: s.cluster, here: s.cluster == s.backup.Spec.ClusterRef.Name, overwrite: s.restore.Spec.Overwrite,
		reader: s, writer: s, image: s.image, now: stageTime(),
		bucket: func(context.Context, string) (accounts.Bucket, error) {
			return accounts.Bucket{Objects: s.bucket, Name: s.bucket.name, CABundle: []byte("ca")}, nil
		},
		save: func(context.Context) error {
			if s.conflict == nil {
				s.restore.Status.DeepCopyInto(&s.saved)
				s.did = append(s.did, "save")
			}
			return s.conflict
		},
	}, copied: s.copied()}
	shop.into.Owner.Name, shop.into.Owner.Namespace = "shop", "shops"
	if shop.copied != nil {
		shop.owners = []metav1.OwnerReference{{Kind: "EcommerceApp", Name: "shop", UID: shop.copied.UID}}
	}
	return shop
}

// until advances until it waits for a reason; empty is the end.
func (s *stage) until(t *testing.T, reason string) {
	t.Helper()
	last := ""
	for range 12 {
		v, err := s.shop().advance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if v.Reason == reason {
			return
		}
		last = v.Reason + ": " + v.Message
	}
	t.Fatalf("it says %q, want %q; it did %s", last, reason, s.did)
}

func (s *stage) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if p, is := into.(*corev1.Pod); is {
		for i := range s.pods {
			if s.pods[i].Name == key.Name {
				s.pods[i].DeepCopyInto(p)
				return nil
			}
		}
	}
	switch found := s.objects[stageKey(into, key.Name)].(type) {
	case *batchv1.Job:
		found.DeepCopyInto(into.(*batchv1.Job))
	case *corev1.PersistentVolumeClaim:
		found.DeepCopyInto(into.(*corev1.PersistentVolumeClaim))
	default:
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	return nil
}

func (s *stage) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	pods, ok := list.(*corev1.PodList)
	if !ok || asked.Namespace != "shops" {
		return fmt.Errorf("listing %T in %q", list, asked.Namespace)
	}
	for i := range s.pods {
		if asked.LabelSelector.Matches(labels.Set(s.pods[i].Labels)) {
			pods.Items = append(pods.Items, s.pods[i])
		}
	}
	return nil
}

func (s *stage) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	key := stageKey(o, o.GetName())
	kind, _, _ := strings.Cut(key, " ")
	if err := s.refuses[kind]; err != nil {
		return err
	}
	if _, there := s.objects[key]; there {
		return apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
	}
	made := o.DeepCopyObject().(client.Object)
	made.SetUID(types.UID("uid-of-" + made.GetName()))
	s.objects[key] = made
	s.did = append(s.did, "create "+key)
	return nil
}

func (s *stage) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	key := stageKey(o, o.GetName())
	if _, there := s.objects[key]; !there {
		return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
	}
	delete(s.objects, key)
	s.did = append(s.did, "delete "+key)
	return nil
}

func (s *stage) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	s.put(o)
	s.did = append(s.did, "loading is "+o.GetAnnotations()[v1.LoadingAnnotation])
	return nil
}

// stageBucket has one dump.
type stageBucket struct {
	cloud.Objects
	name     string
	manifest []byte
}

func (b stageBucket) GetObject(_ context.Context, key string, _ int64) ([]byte, error) {
	if key != logicalbackup.ManifestKey(dumpPrefix) {
		return nil, &cloud.Error{Class: cloud.ClassNotFound}
	}
	return slices.Clone(b.manifest), nil
}

func (b stageBucket) SignRequests(_ context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	out := make([]cloud.SignedRequest, 0, len(wanted))
	for _, w := range wanted {
		out = append(out, cloud.SignedRequest{Method: w.Method, URL: "https://bucket.example.com/" + w.Key + "?signature=secret", ExpiresAt: stageTime().Add(life)})
	}
	return out, nil
}

func (b stageBucket) ListObjects(context.Context, string) iter.Seq2[cloud.Object, error] {
	return func(func(cloud.Object, error) bool) {}
}
