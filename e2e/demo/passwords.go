package main

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// carryPasswords copies the database's Secrets to the other region, as whoever moves data
// must: what is in the volume was made with them, and they are in no backup.
func (d *demo) carryPasswords(ctx context.Context, progress io.Writer) error {
	from, err := d.memberClient(home)
	if err != nil {
		return err
	}
	to, err := d.memberClient(refuge)
	if err != nil {
		return err
	}
	secrets, err := from.CoreV1().Secrets(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: v1.InstanceLabel + "=" + shop + "," + v1.ComponentLabel + "=database",
	})
	if err != nil {
		return fmt.Errorf("listing the database's Secrets in %s: %w", home, err)
	}
	for i := range secrets.Items {
		s := &secrets.Items[i]
		_, err := to.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: s.Name, Annotations: map[string]string{v1.AdoptAnnotation: "true"}},
			Type:       s.Type, Data: s.Data,
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("copying the Secret %q to %s: %w", s.Name, refuge, err)
		}
		_, _ = fmt.Fprintf(progress, "secret %s is copied from %s to %s\n", s.Name, home, refuge)
	}
	return nil
}

// memberClient returns an administrator's client of a member.
func (d *demo) memberClient(name string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", d.path(name, "kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", name, err)
	}
	config.Timeout = requestTimeout
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of %s: %w", name, err)
	}
	return c, nil
}
