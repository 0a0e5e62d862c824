package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/nodes"
)

// requestTimeout limits one probe: a frozen server accepts connections and never
// responds.
const requestTimeout = 5 * time.Second

// awaitReady waits until the API server says that it is ready.
func (c *Cluster) awaitReady(ctx context.Context) error {
	config := c.AdminConfig()
	config.Timeout = requestTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	return c.eventually(ctx, "the API server", func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}, Etcd, APIServer)
}

// populate creates what the cloud would have put into the cluster, and returns when
// pods can be created and scheduled.
func (c *Cluster) populate(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := c.createNodes(ctx, client); err != nil {
		return err
	}
	classes, err := nodes.StorageClasses(c.spec.Provider)
	if err != nil {
		return err
	}
	for _, class := range classes {
		if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); unlessExists(err) != nil {
			return fmt.Errorf("creating storage class %q: %w", class.Name, err)
		}
	}
	if c.spec.APIServerOnly {
		return nil
	}
	err = c.eventually(ctx, "the default service account", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}, c.spec.components()...)
	if err != nil || c.spec.Nodes == 0 {
		return err
	}
	return c.eventually(ctx, "the nodes", func(ctx context.Context) error { return schedulable(ctx, client) }, c.spec.components()...)
}

func (c *Cluster) createNodes(ctx context.Context, client kubernetes.Interface) error {
	rendered, err := nodes.Render(c.spec.nodes(), time.Now())
	if err != nil {
		return err
	}
	for _, node := range rendered {
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); unlessExists(err) != nil {
			return fmt.Errorf("creating node %q: %w", node.Name, err)
		}
	}
	return nil
}

func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// schedulable returns nil once no node is tainted: every node is created with the
// taint of not being ready.
func schedulable(ctx context.Context, client kubernetes.Interface) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	var unready []error
	for _, node := range list.Items {
		for _, taint := range node.Spec.Taints {
			if taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute {
				unready = append(unready, fmt.Errorf("node %q has taint %q", node.Name, taint.Key))
			}
		}
	}
	return errors.Join(unready...)
}
