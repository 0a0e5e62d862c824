package commands

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/report"
	"github.com/shopfleet/shopfleet/config"
)

const (
	// maxNamespaces is the number of namespaces whose events are collected.
	maxNamespaces = 50
	// maxLogLines is the number of lines of a log that are collected, the latest ones.
	maxLogLines = 10000
)

// collection collects what an archive for a support request has. What cannot be read is
// omitted; errors are about the archive.
type collection struct {
	*Program
	hub     *cluster
	archive *report.Archive
	// namespaces are the namespaces of the hub and of EcommerceApps.
	namespaces []string
	// registrations are the names of Secrets with kubeconfigs.
	registrations []string
}

func (c *collection) all(ctx context.Context) error {
	c.namespaces = []string{c.namespace}
	for _, step := range []func(context.Context) error{
		c.versions, c.doctor, c.objects, c.events, c.process, c.secrets, c.pods,
	} {
		if err := step(ctx); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return fmt.Errorf("collecting: %w", err)
		}
	}
	return nil
}

func (c *collection) versions(ctx context.Context) error {
	found, err := c.Program.versions(ctx, false)
	if err != nil {
		c.archive.Omit("versions of the hub and of members", err)
	}
	return c.addValue("versions.yaml", found)
}

// addValue adds a value as YAML.
func (c *collection) addValue(name string, value any) error {
	content, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	return c.archive.AddText(name, string(content))
}

func (c *collection) doctor(ctx context.Context) error {
	found, err := c.diagnose(ctx, c.hub, nil)
	if err != nil {
		c.archive.Omit("checks of kubectl shopfleet doctor", err)
		return nil
	}
	return c.archive.AddText("doctor.txt", printers.Text(printers.Checks(found.Checks, true), printers.Options{Wide: true}))
}

// objects collects the objects of our kinds.
func (c *collection) objects(ctx context.Context) error {
	for _, kind := range []string{"EcommerceApp", "MemberCluster", "CloudAccount", "Backup", "Restore"} {
		items, err := c.list(ctx, "objects/"+kind+".yaml", v1.GroupVersion.WithKind(kind))
		if err != nil {
			return err
		}
		for _, item := range items {
			namespace := item.GetNamespace()
			if kind == "EcommerceApp" && !slices.Contains(c.namespaces, namespace) && len(c.namespaces) < maxNamespaces {
				c.namespaces = append(c.namespaces, namespace)
			}
			if kind != "MemberCluster" {
				continue
			}
			name, _, _ := unstructured.NestedString(item.Object, "spec", "kubeconfigSecretRef", "name")
			c.registrations = append(c.registrations, item.GetName(), name)
		}
	}
	return nil
}

// list adds a file with the objects of a kind, and returns them.
func (c *collection) list(ctx context.Context, name string, kind schema.GroupVersionKind, options ...client.ListOption) ([]unstructured.Unstructured, error) {
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.hub.client.List(ctx, found, options...); err != nil {
		c.archive.Omit(name, err)
		return nil, nil
	}
	content := make([]map[string]any, 0, len(found.Items))
	for i := range found.Items {
		content = append(content, found.Items[i].DeepCopy().Object)
	}
	return found.Items, c.archive.AddObjects(name, content)
}

func (c *collection) events(ctx context.Context) error {
	for _, namespace := range c.namespaces {
		if _, err := c.list(ctx, "events/"+namespace+".yaml", corev1.SchemeGroupVersion.WithKind("Event"), client.InNamespace(namespace)); err != nil {
			return err
		}
	}
	return nil
}

// process collects the objects by which the hub runs.
func (c *collection) process(ctx context.Context) error {
	name := deploymentName(config.Hub)
	only := []client.ListOption{client.InNamespace(c.namespace), client.MatchingFields{"metadata.name": name}}
	for file, kind := range map[string]schema.GroupVersionKind{
		"hub/Deployment.yaml": {Group: "apps", Version: "v1", Kind: "Deployment"},
		"hub/Lease.yaml":      {Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	} {
		if _, err := c.list(ctx, file, kind, only...); err != nil {
			return err
		}
	}
	_, err := c.list(ctx, "hub/Pod.yaml", corev1.SchemeGroupVersion.WithKind("Pod"), c.ofHub()...)
	return err
}

func (c *collection) ofHub() []client.ListOption {
	return []client.ListOption{client.InNamespace(c.namespace), client.MatchingLabels{v1.NameLabel: deploymentName(config.Hub)}}
}

// namedSecret is a Secret without its values.
type namedSecret struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Type      string   `json:"type,omitempty"`
	Keys      []string `json:"keys,omitempty"`
}

// secrets collects the names and keys of Secrets. Those with kubeconfigs are not read: only
// their metadata is.
func (c *collection) secrets(ctx context.Context) error {
	found := []namedSecret{}
	for _, namespace := range c.namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		if err := c.hub.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			c.archive.Omit("Secrets in namespace "+namespace, err)
			continue
		}
		for i := range list.Items {
			found = append(found, c.keys(ctx, &list.Items[i]))
		}
	}
	return c.addValue("secrets.yaml", found)
}

// keys returns a Secret with its keys, unless it may have a kubeconfig.
func (c *collection) keys(ctx context.Context, meta *metav1.PartialObjectMetadata) namedSecret {
	one := namedSecret{Namespace: meta.Namespace, Name: meta.Name}
	_, registers := meta.Labels[v1.MemberClusterLabel]
	if registers || meta.Namespace == c.namespace && slices.Contains(c.registrations, meta.Name) {
		return one
	}
	secret := &corev1.Secret{}
	if err := c.hub.client.Get(ctx, client.ObjectKeyFromObject(meta), secret); err != nil {
		c.archive.Omit("keys of Secret "+meta.Namespace+"/"+meta.Name, err)
		return one
	}
	one.Type = string(secret.Type)
	for key := range secret.Data {
		one.Keys = append(one.Keys, key)
	}
	slices.Sort(one.Keys)
	return one
}

// pods collects the logs and the metrics of the hub's pods.
func (c *collection) pods(ctx context.Context) error {
	core, err := corev1client.NewForConfig(c.hub.config)
	if err != nil {
		return fmt.Errorf("creating a client for %s: %w", c.hub.config.Host, err)
	}
	pods := &corev1.PodList{}
	if err := c.hub.client.List(ctx, pods, c.ofHub()...); err != nil {
		c.archive.Omit("logs of the hub", err)
		return nil
	}
	for i := range pods.Items {
		if err := c.logs(ctx, core, &pods.Items[i]); err != nil {
			return err
		}
		if err := c.metrics(ctx, core, &pods.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// logs collects the logs of a pod's containers, and of their previous instances.
func (c *collection) logs(ctx context.Context, core corev1client.CoreV1Interface, pod *corev1.Pod) error {
	for _, status := range pod.Status.ContainerStatuses {
		for _, previous := range []bool{false, true} {
			if previous && status.RestartCount == 0 {
				continue
			}
			name := "logs/" + pod.Name + "/" + status.Name + ".log"
			if previous {
				name = "logs/" + pod.Name + "/" + status.Name + ".previous.log"
			}
			raw, err := core.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
				Container: status.Name, Previous: previous, TailLines: new(int64(maxLogLines)), LimitBytes: new(int64(report.MaxFile)), Timestamps: true,
			}).DoRaw(ctx)
			if err != nil {
				c.archive.Omit(name, err)
				continue
			}
			if err := c.archive.AddText(name, string(raw)); err != nil {
				return err
			}
		}
	}
	return nil
}

// metrics collects the metrics of a pod through the proxy of the API server. The hub may
// demand a token, which the proxy does not pass on.
func (c *collection) metrics(ctx context.Context, core corev1client.CoreV1Interface, pod *corev1.Pod) error {
	port := ""
	for _, container := range pod.Spec.Containers {
		for _, p := range container.Ports {
			if p.Name == "metrics" {
				port = strconv.Itoa(int(p.ContainerPort))
			}
		}
	}
	name := "metrics/" + pod.Name + ".txt"
	if port == "" {
		c.archive.Omit(name, apierrors.NewNotFound(corev1.Resource("ports"), "metrics"))
		return nil
	}
	raw, err := core.Pods(pod.Namespace).ProxyGet("https", pod.Name, port, "metrics", nil).DoRaw(ctx)
	if err != nil {
		c.archive.Omit(name, err)
		return nil
	}
	return c.archive.AddText(name, string(raw))
}
