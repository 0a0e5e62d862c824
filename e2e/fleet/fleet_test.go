package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

const namespace = "shop"

// TestFleet shares one fleet: starting it is what costs time.
func TestFleet(t *testing.T) {
	f := fleettest.Start(t, fleet.Options{
		Hub:     fleet.ClusterSpec{Name: "hub"},
		Members: []fleet.ClusterSpec{{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 3}},
	})
	member := f.Member("eu-1")
	if err := member.ApplyFolder(t.Context(), "testdata"); err != nil {
		t.Fatal(err)
	}
	t.Run("hub and member are apart", testApart(f))
	t.Run("workloads run", testWorkloads(member))
	t.Run("claims grow and go", testClaims(member))
	t.Run("definitions are served with their objects", testDefinition(member))
	t.Run("a service account may do what its role says", testServiceAccount(member))
	t.Run("the audit log counts", testAudit(member))
	// A request to a node with another address would leave the machine.
	if t.Run("only loopback addresses are configured", testConfigured(f)) {
		t.Run("requests to kubelets and pods are refused at once", testKubelet(member))
	}
	t.Run("only loopback addresses are used", testSockets(f))
	t.Run("a frozen cluster hangs until it is thawed", testFreeze(member))
	t.Run("a killed cluster comes back with its data", testKill(member))
}

func clientOf(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func testApart(f *fleet.Fleet) func(*testing.T) {
	return func(t *testing.T) {
		var names []string
		for _, cluster := range f.Clusters() {
			names = append(names, cluster.Name())
		}
		if diff := cmp.Diff([]string{"hub", "eu-1"}, names); diff != "" {
			t.Error(diff)
		}
		if f.Member("hub") != nil || f.Member("nowhere") != nil {
			t.Error("a member that is none")
		}
		_, err := clientOf(t, f.Hub().AdminConfig()).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("the member's namespace on the hub: %v", err)
		}
		// Each has an authority of its own.
		foreign := f.Hub().AdminConfig()
		foreign.Host = f.Member("eu-1").Server()
		if _, err := clientOf(t, foreign).Discovery().ServerVersion(); err == nil {
			t.Error("the hub's administrator was let in by the member")
		}
	}
}

func testWorkloads(member *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		client := clientOf(t, member.AdminConfig())
		fleettest.Eventually(t, "the deployment", func(ctx context.Context) error {
			web, err := client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			return expect("available replicas", web.Status.AvailableReplicas, 3)
		})
		fleettest.Eventually(t, "the stateful set", func(ctx context.Context) error {
			db, err := client.AppsV1().StatefulSets(namespace).Get(ctx, "db", metav1.GetOptions{})
			if err != nil {
				return err
			}
			return expect("available replicas", db.Status.AvailableReplicas, 2)
		})
		fleettest.Eventually(t, "the job", func(ctx context.Context) error {
			job, err := client.BatchV1().Jobs(namespace).Get(ctx, "once", metav1.GetOptions{})
			if err != nil {
				return err
			}
			return expect("succeeded pods", job.Status.Succeeded, 1)
		})
		fleettest.Eventually(t, "the image that cannot be pulled", func(ctx context.Context) error {
			pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=broken"})
			if err != nil {
				return err
			}
			if len(pods.Items) != 1 || len(pods.Items[0].Status.ContainerStatuses) != 1 {
				return errors.New("no status yet")
			}
			waiting := pods.Items[0].Status.ContainerStatuses[0].State.Waiting
			if waiting == nil {
				return errors.New("it does not wait")
			}
			return expect("reason", waiting.Reason, "ImagePullBackOff")
		})
	}
}

func testClaims(member *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		client := clientOf(t, member.AdminConfig())
		claims := client.CoreV1().PersistentVolumeClaims(namespace)
		const name = "data-db-0"
		_, err := claims.Patch(t.Context(), name, types.MergePatchType,
			[]byte(`{"spec":{"resources":{"requests":{"storage":"2048Mi"}}}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var volume string
		fleettest.Eventually(t, "the claim to grow", func(ctx context.Context) error {
			claim, err := claims.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			volume = claim.Spec.VolumeName
			return expect("capacity", claim.Status.Capacity.Storage().String(), "2Gi")
		})
		grown, err := client.CoreV1().PersistentVolumes().Get(t.Context(), volume, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("2Gi", grown.Spec.Capacity.Storage().String()); diff != "" {
			t.Error(diff)
		}
		if grown.Spec.CSI == nil || grown.Spec.CSI.Driver != "ebs.csi.aws.com" {
			t.Errorf("the volume is not of the default class's driver: %v", grown.Spec.PersistentVolumeSource)
		}

		// A class of another driver, and no pod that waits for the claim.
		fleettest.Eventually(t, "a claim that binds at once", func(ctx context.Context) error {
			claim, err := claims.Get(ctx, "scratch", metav1.GetOptions{})
			if err != nil {
				return err
			}
			volume = claim.Spec.VolumeName
			return expect("phase", claim.Status.Phase, corev1.ClaimBound)
		})
		if err := claims.Delete(t.Context(), "scratch", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		fleettest.Eventually(t, "the deleted claim's volume to go", func(ctx context.Context) error {
			_, err := client.CoreV1().PersistentVolumes().Get(ctx, volume, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(errors.New("it is there"), err)
		})
	}
}

func testDefinition(member *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		raw, err := clientOf(t, member.AdminConfig()).Discovery().RESTClient().Get().
			AbsPath("/apis/example.com/v1/namespaces/shop/parcels/first").DoRaw(t.Context())
		if err != nil {
			t.Errorf("reading the object of a new kind: %v (%s)", err, raw)
		}
	}
}

func serviceAccountClient(t *testing.T, member *fleet.Cluster) kubernetes.Interface {
	t.Helper()
	raw, err := member.ServiceAccountKubeconfig(t.Context(), namespace, "clerk")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	return clientOf(t, config)
}

func testServiceAccount(member *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		client := serviceAccountClient(t, member)
		if _, err := client.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("what the role allows: %v", err)
		}
		if _, err := client.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("what the role does not allow: got %v, want forbidden", err)
		}
		if _, err := member.ServiceAccountKubeconfig(t.Context(), namespace, "unknown"); !apierrors.IsNotFound(err) {
			t.Errorf("an account that does not exist: got %v, want not found", err)
		}
	}
}

func testAudit(member *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		maps := serviceAccountClient(t, member).CoreV1().ConfigMaps(namespace)
		mark, err := member.AuditMark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			create(t, maps, fmt.Sprintf("note-%d", i), metav1.DryRunAll)
			create(t, maps, fmt.Sprintf("note-%d", i))
		}
		if err := maps.Delete(t.Context(), "note-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(t.Context(), "note-0", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("deleting it again: %v", err)
		}
		log, end, err := member.AuditSince(t.Context(), mark)
		if err != nil {
			t.Fatal(err)
		}
		clerk := log.ByServiceAccount(namespace, "clerk")
		got := map[string]int{
			"writes":    len(clerk.Writes()),
			"succeeded": len(clerk.Writes().Succeeded()),
			"deletes":   len(clerk.Deletes()),
			"missing":   len(clerk.Code(http.StatusNotFound)),
			"elsewhere": len(clerk.In("default")),
		}
		if diff := cmp.Diff(map[string]int{"writes": 7, "succeeded": 6, "deletes": 2, "missing": 1, "elsewhere": 0}, got); diff != "" {
			t.Errorf("%s\n%s", diff, clerk)
		}
		rest, _, err := member.AuditSince(t.Context(), end)
		if err != nil {
			t.Fatal(err)
		}
		if again := rest.ByServiceAccount(namespace, "clerk"); len(again) != 0 {
			t.Errorf("after the mark:\n%s", again)
		}
	}
}

func create(t *testing.T, maps corev1client.ConfigMapInterface, name string, dryRun ...string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{DryRun: dryRun}); err != nil {
		t.Fatal(err)
	}
}

func testFreeze(member *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		client := clientOf(t, member.AdminConfig())
		if err := member.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fleet.Frozen, member.Health()); diff != "" {
			t.Error(diff)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("asking a frozen cluster: got %v, want the deadline", err)
		}
		if err := member.Thaw(t.Context()); err != nil {
			t.Fatal(err)
		}
		fleettest.Eventually(t, "the thawed cluster", func(ctx context.Context) error {
			_, err := client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
			return err
		})
	}
}

func testKill(member *fleet.Cluster) func(*testing.T) {
	return func(t *testing.T) {
		client := clientOf(t, member.AdminConfig())
		before, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		kill(t, member, fleet.Partly, fleet.APIServer)
		kill(t, member, fleet.Dead)
		if _, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); err == nil {
			t.Error("a dead cluster answered")
		}
		if _, err := member.Audit(t.Context()); err != nil {
			t.Errorf("reading a dead cluster's audit log: %v", err)
		}
		if err := member.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		after, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before.UID, after.UID); diff != "" {
			t.Error(diff)
		}
		// The other components work again, too.
		scale(t, client, 4)
	}
}

func kill(t *testing.T, member *fleet.Cluster, want fleet.Health, components ...fleet.Component) {
	t.Helper()
	if err := member.Kill(t.Context(), components...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, member.Health()); diff != "" {
		t.Error(diff)
	}
}

func scale(t *testing.T, client kubernetes.Interface, replicas int32) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := client.AppsV1().Deployments(namespace).Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	fleettest.Eventually(t, "the deployment to scale", func(ctx context.Context) error {
		web, err := client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return expect("available replicas", web.Status.AvailableReplicas, replicas)
	})
}

func expect[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}
