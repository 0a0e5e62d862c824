package fakemembers_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/members/capacity"
	"github.com/shopfleet/shopfleet/hub/members/connect"
	"github.com/shopfleet/shopfleet/hub/members/crds"
	"github.com/shopfleet/shopfleet/hub/members/permissions"
)

func configMaps() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("configmaps")
}

// watched reads events of ConfigMaps with a label until end returns true, and returns them as texts.
func (c *cluster) watched(t *testing.T, o metav1.ListOptions, end func(watch.Event) bool) (seen []string, last watch.Event) {
	t.Helper()
	o.AllowWatchBookmarks = true
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, err := c.resources("configmaps").Watch(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		name := ""
		if found, err := meta.Accessor(event.Object); err == nil {
			name = found.GetName()
		}
		seen = append(seen, string(event.Type)+" "+name)
		if end(event) {
			return seen, event
		}
	}
	t.Fatalf("the watch ended after %q", seen)
	return nil, last
}

func isInitialEnd(event watch.Event) bool {
	found, err := meta.Accessor(event.Object)
	return err == nil && event.Type == watch.Bookmark && found.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// initial returns the options of a reflector's first watch.
func initial(selector string) metav1.ListOptions {
	return metav1.ListOptions{
		LabelSelector: selector, SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
}

func labelled(name, value string) *unstructured.Unstructured {
	u := configMap(name, nil)
	u.SetLabels(map[string]string{"watch": value})
	return u
}

func watchBegins(t *testing.T, c *cluster) {
	t.Helper()
	must(t)(c.apply(t, "configmaps", labelled("begins-1", "begins"), by("a")))
	must(t)(c.apply(t, "configmaps", labelled("begins-2", "begins"), by("a")))
	seen, last := c.watched(t, initial("watch=begins"), isInitialEnd)
	if diff := cmp.Diff([]string{"ADDED begins-1", "ADDED begins-2", "BOOKMARK "}, seen); diff != "" {
		t.Error(diff)
	}
	if found, err := meta.Accessor(last.Object); err != nil || found.GetResourceVersion() == "" {
		t.Errorf("the bookmark is %v", last.Object)
	}
}

func watchGoesOn(t *testing.T, c *cluster) {
	t.Helper()
	_, last := c.watched(t, initial("watch=goes-on"), isInitialEnd)
	found, err := meta.Accessor(last.Object)
	if err != nil {
		t.Fatal(err)
	}
	must(t)(c.apply(t, "configmaps", labelled("goes-on", "goes-on"), by("a")))
	changed := labelled("goes-on", "goes-on")
	changed.SetAnnotations(map[string]string{"changed": "true"})
	must(t)(c.apply(t, "configmaps", changed, by("a")))
	if err := c.resources("configmaps").Delete(t.Context(), "goes-on", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o := metav1.ListOptions{LabelSelector: "watch=goes-on", ResourceVersion: found.GetResourceVersion()}
	seen, gone := c.watched(t, o, func(e watch.Event) bool { return e.Type == watch.Deleted })
	if diff := cmp.Diff([]string{"ADDED goes-on", "MODIFIED goes-on", "DELETED goes-on"}, seen); diff != "" {
		t.Error(diff)
	}
	if deleted, err := meta.Accessor(gone.Object); err != nil || versionOf(t, deleted) <= versionOf(t, found) {
		t.Errorf("the deleted object is %v", gone.Object)
	}
}

func versionOf(t *testing.T, o metav1.Object) int {
	t.Helper()
	n, err := strconv.Atoi(o.GetResourceVersion())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func watchSelects(t *testing.T, c *cluster) {
	t.Helper()
	first := must(t)(c.apply(t, "configmaps", labelled("selects", "in"), by("a")))
	must(t)(c.apply(t, "configmaps", labelled("selects", "out"), by("a")))
	must(t)(c.apply(t, "configmaps", labelled("selects", "in"), by("a")))
	o := metav1.ListOptions{LabelSelector: "watch=in", ResourceVersion: first.GetResourceVersion()}
	seen, _ := c.watched(t, o, func(e watch.Event) bool { return e.Type == watch.Added })
	if diff := cmp.Diff([]string{"DELETED selects", "ADDED selects"}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestWatchExpires checks a fake member alone: a real control plane keeps changes for minutes.
func TestWatchExpires(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fakeServer(t))
	first := must(t)(c.apply(t, "configmaps", labelled("expires", "expires"), by("a")))
	for i := range 300 {
		u := labelled("expires", "expires")
		u.SetAnnotations(map[string]string{"count": fmt.Sprint(i)})
		must(t)(c.apply(t, "configmaps", u, by("a")))
	}
	_, last := c.watched(t, metav1.ListOptions{ResourceVersion: first.GetResourceVersion()}, func(e watch.Event) bool { return e.Type == watch.Error })
	if err := apierrors.FromObject(last.Object); !apierrors.IsResourceExpired(err) {
		t.Errorf("the error is %v", err)
	}
}

func listSelects(t *testing.T, c *cluster) {
	t.Helper()
	must(t)(c.apply(t, "configmaps", labelled("listed", "listed"), by("a")))
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := c.client.List(t.Context(), list, client.MatchingLabels{"watch": "listed"}); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].Name != "listed" || list.ResourceVersion == "" {
		t.Errorf("the list is %+v", list)
	}
	one := &metav1.PartialObjectMetadata{}
	one.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "listed"}, one); err != nil || one.Labels["watch"] != "listed" {
		t.Errorf("the metadata is %+v, %v", one, err)
	}
}

// typedClients uses protobuf.
func typedClients(t *testing.T, c *cluster) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "typed"}, Data: map[string][]byte{"key": []byte("value")}}
	if err := c.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	read := &corev1.Secret{}
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(secret), read); err != nil || string(read.Data["key"]) != "value" {
		t.Errorf("the Secret is %v, %v", read, err)
	}
	list := &corev1.SecretList{}
	w, err := c.client.Watch(t.Context(), list, client.InNamespace(namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	event := <-w.ResultChan()
	if seen, ok := event.Object.(*corev1.Secret); !ok || event.Type != watch.Added || seen.Name != "typed" {
		t.Errorf("the event is %v", event)
	}
	err = c.client.Delete(t.Context(), read, client.Preconditions{UID: &read.UID, ResourceVersion: &read.ResourceVersion})
	if err != nil {
		t.Error(err)
	}
	expectNotFound(t, c.client.Get(t.Context(), client.ObjectKeyFromObject(secret), read))
}

// definition returns the hub's definition of applications.
func definition(t *testing.T) crds.Definitions {
	t.Helper()
	u, err := config.Definition("ecommerce.io", "ecommerceapps")
	if err != nil {
		t.Fatal(err)
	}
	return crds.Definitions{u}
}

func definitionServed(t *testing.T, c *cluster) {
	t.Helper()
	fresh, err := client.New(c.config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // Also when it is installed.
		facts, err := definition(t).Install(t.Context(), fresh)
		if err != nil || len(facts.Deleting) > 0 {
			t.Fatal(err)
		}
	}
	if facts, err := definition(t).Verify(t.Context(), fresh); err != nil || len(facts.Absent)+len(facts.Outdated) > 0 {
		t.Errorf("the definitions are %+v, %v", facts, err)
	}
}

func eventsAccepted(t *testing.T, c *cluster) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "event"},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Namespace: namespace, Name: "event"},
	}
	if _, err := clients.CoreV1().Events(namespace).Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
}

func preflightPasses(t *testing.T, c *cluster) {
	t.Helper()
	clients, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	missing, err := permissions.Missing(t.Context(), clients.AuthorizationV1(), permissions.FromRules([]rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "patch"}},
	}))
	if err != nil || len(missing) > 0 {
		t.Errorf("%v are missing, %v", missing, err)
	}
	facts, err := connect.Discover(t.Context(), clients.NetworkingV1().RESTClient(), clients.NetworkingV1(), clients.StorageV1())
	if err != nil || facts.Version == "" {
		t.Errorf("the server is %+v, %v", facts, err)
	}
	nodes := &corev1.NodeList{}
	if err := c.client.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	if found := capacity.Nodes(nodes.Items); found.Nodes != 1 || found.ReadyNodes != 1 || found.Provider != "aws" || found.Region == "" || found.Allocatable.Cpu().IsZero() {
		t.Errorf("the nodes are %+v", found)
	}
	system := &corev1.Namespace{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil || system.UID == "" {
		t.Errorf("kube-system is %v, %v", system, err)
	}
}

func unknownNotFound(t *testing.T, c *cluster) {
	t.Helper()
	unknown := c.dynamic.Resource(schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"})
	_, err := unknown.List(t.Context(), metav1.ListOptions{})
	expectNotFound(t, err)
	_, err = unknown.Watch(t.Context(), metav1.ListOptions{})
	expectNotFound(t, err)
	if _, err := c.client.RESTMapper().RESTMapping(schema.GroupKind{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"}); !meta.IsNoMatchError(err) {
		t.Errorf("the error is %v", err)
	}
	_, err = c.resources("configmaps").Get(t.Context(), "unknown", metav1.GetOptions{})
	expectNotFound(t, err)
}

func tokenChecked(t *testing.T, c *cluster) {
	t.Helper()
	wrong := rest.AnonymousClientConfig(c.config)
	wrong.BearerToken = "wrong"
	stranger, err := dynamic.NewForConfig(wrong)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Resource(configMaps()).List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("the error is %v", err)
	}
}
