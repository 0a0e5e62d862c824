package csi

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// attachedByController makes the volume controller attach volumes to a node; a kubelet
// sets it itself.
const attachedByController = "volumes.kubernetes.io/controller-managed-attach-detach"

// Install leaves in a cluster what the installation of the driver does: its CSIDriver, its label on each node, and CSINodes.
func Install(ctx context.Context, admin *rest.Config, driver Driver) error {
	c, err := client.New(admin, client.Options{})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	object := &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver.name},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: new(true)},
	}
	if err := c.Create(ctx, object); unlessExists(err) != nil {
		return fmt.Errorf("installing the driver: %w", err)
	}
	nodes := &corev1.NodeList{}
	if err := c.List(ctx, nodes); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		if err := driver.installOn(ctx, c, &nodes.Items[i]); err != nil {
			return fmt.Errorf("installing the driver on node %q: %w", nodes.Items[i].Name, err)
		}
	}
	return nil
}

func (d Driver) installOn(ctx context.Context, c client.Client, node *corev1.Node) error {
	before := node.DeepCopy()
	node.Labels[d.topology] = node.Labels[corev1.LabelTopologyZone]
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, attachedByController, "true")
	if err := c.Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return err
	}
	on := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
		}},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: d.name, NodeID: node.Name, TopologyKeys: []string{d.topology}},
		}},
	}
	return unlessExists(c.Create(ctx, on))
}

func unlessExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
