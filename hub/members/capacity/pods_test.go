package capacity

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// amounts returns a list of cpu and memory.
func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func requesting(name, cpu, memory string) corev1.Container {
	c := corev1.Container{
		Name: name, Image: "registry.example.com/team/" + name + ":1.2.3", Resources: corev1.ResourceRequirements{Requests: amounts(cpu, memory)},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz"}}},
	}
	for i := range 15 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("A_VARIABLE_", i), Value: "a value of a variable"})
	}
	return c
}

// pod returns a pod with the fields that the pods of a cluster have.
func pod(name string, containers ...corev1.Container) corev1.Pod {
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "production", UID: "0e5fbb1c-0f52-4f46-a4a5-7f2f3a3b0a55", ResourceVersion: "123456",
			Labels: map[string]string{"app.kubernetes.io/name": "shop", "pod-template-hash": "7c9d8f"},
		},
		Spec:   corev1.PodSpec{NodeName: "node-1", Containers: containers, ServiceAccountName: "shop"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	for i := range 4 {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("manager-", i), Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(strings.Repeat(`{"f:spec":{"f:containers":{}}}`, 10)),
		})
	}
	return p
}

// encodedPods returns a page as API servers encode it.
func encodedPods(t testing.TB, next string, pods ...corev1.Pod) []byte {
	t.Helper()
	var encoded bytes.Buffer
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: next}, Items: pods}
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &encoded); err != nil {
		t.Fatal(err)
	}
	return encoded.Bytes()
}

// serving returns a client of an API server with a handler.
func serving(t testing.TB, handle http.HandlerFunc) rest.Interface {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	client, err := corev1client.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client.RESTClient()
}

// TestRequested sums pages of pods: sidecars add to containers, other init containers count if they
// request more, and so do the overhead and the requests of a whole pod.
func TestRequested(t *testing.T) {
	t.Parallel()
	always := corev1.ContainerRestartPolicyAlways
	initialized := pod("initialized", requesting("main", "100m", "100Mi"))
	sidecar := requesting("sidecar", "50m", "10Mi")
	sidecar.RestartPolicy = &always
	initialized.Spec.InitContainers = []corev1.Container{sidecar, requesting("init", "1", "10Mi")}
	initialized.Spec.Overhead = amounts("10m", "1Mi")
	whole := pod("whole", requesting("main", "100m", "100Mi"))
	whole.Spec.Resources = &corev1.ResourceRequirements{Requests: amounts("2", "1Gi")}
	pages := map[string][]byte{
		"":       encodedPods(t, "second", pod("two", requesting("a", "250m", "256Mi"), requesting("b", "250m", "256Mi")), initialized),
		"second": encodedPods(t, "", whole, pod("none", corev1.Container{Name: "main"})),
	}
	got, err := Requested(t.Context(), serving(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if limit, selector := query.Get("limit"), query.Get("fieldSelector"); r.URL.Path != "/api/v1/pods" || limit != "500" || selector != usesNodes || query.Has("resourceVersion") {
			t.Errorf("request %s", r.URL)
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(pages[query.Get("continue")])
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := amounts("3560m", "1647Mi") // 500m + 1060m + 2, 512Mi + 111Mi + 1Gi
	want[corev1.ResourcePods] = resource.MustParse("4")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requested (-want +got):\n%s", diff)
	}
}

// TestRequestedFails checks that the response of a cluster is validated, and that credentials that must not list pods
// are no error.
func TestRequestedFails(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "", nil).Status()
	for name, tt := range map[string]struct {
		code int
		body []byte
		want error
		// fails is true if any error is expected.
		fails bool
	}{
		"forbidden":    {http.StatusForbidden, []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + string(forbidden.Reason) + `","code":403}`), nil, false},
		"JSON":         {http.StatusOK, []byte(`{"kind":"PodList","apiVersion":"v1","items":[]}`), errNoProtobuf, false},
		"too large":    {http.StatusOK, make([]byte, maxPodPage+1), errPageTooLarge, false},
		"cut":          {http.StatusOK, encodedPods(t, "", pod("a", requesting("a", "1", "1Gi")))[:200], errNoProtobuf, true},
		"server error": {http.StatusInternalServerError, nil, errNoProtobuf, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Requested(t.Context(), serving(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(len(tt.body)))
				w.WriteHeader(tt.code)
				_, _ = w.Write(tt.body)
			}))
			if matches := errors.Is(err, tt.want) || tt.fails && err != nil; !matches || got != nil {
				t.Errorf("%v, %v; want %v, or any error: %t", got, err, tt.want, tt.fails)
			}
		})
	}
}

// FuzzAddPage checks that no response panics.
func FuzzAddPage(f *testing.F) {
	f.Add(encodedPods(f, "next", pod("a", requesting("a", "1", "1Gi"))))
	f.Add([]byte("k8s\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		total := newRequests()
		if next, err := total.addPage(raw); err != nil && total.pods < 0 {
			t.Error(next, total.pods)
		}
	})
}

// BenchmarkRequested lists 10,000 pods, in 20 pages.
func BenchmarkRequested(b *testing.B) {
	pods := make([]corev1.Pod, 0, podPage)
	for i := range podPage {
		pods = append(pods, pod(fmt.Sprint("pod-", i), requesting("main", "250m", "256Mi"), requesting("sidecar", "50m", "64Mi")))
	}
	page := encodedPods(b, "", pods...)
	b.Run("decode", func(b *testing.B) {
		measure(b, func() error {
			_, err := newRequests().addPage(page)
			return err
		})
	})
	b.Run("decode typed", func(b *testing.B) {
		decoder := scheme.Codecs.UniversalDeserializer()
		measure(b, func() error {
			_, _, err := decoder.Decode(page, nil, &corev1.PodList{})
			return err
		})
	})
	b.Run("list", func(b *testing.B) {
		client := serving(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) })
		measure(b, func() error {
			_, err := Requested(b.Context(), client)
			return err
		})
	})
}

// measure measures a function that is about a page, for 20 of them.
func measure(b *testing.B, page func() error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		for range 20 {
			if err := page(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
