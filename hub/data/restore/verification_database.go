package restore

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// VerificationNamespace holds the name of the namespace in which databases are started for
// verification.
const VerificationNamespace = "shopfleet-verify"

// generatedName is the name of a database with credentials of its own, and of its user.
const generatedName = "shop"

// verificationDatabase is one database that is started to be verified.
type verificationDatabase struct {
	// name is unique among verifications: at most 40 characters of a label.
	name string
	// engine, version and image describe the server of the backup; an empty image stands for
	// the engine's official one. registry replaces the registry of either; may be empty.
	engine                   v1.Engine
	version, image, registry string
	// storage is the size of the volume, and storageClass its class; nil is the cluster's
	// default. Neither matters where the claim is there already.
	storage      resource.Quantity
	storageClass *string
	// resources, pods and userIDs are the settings of the server and of its pod.
	resources v1.Resources
	pods      v1.PodSettings
	userIDs   v1.PodUserIDs
	// credentials names the Secret of the application if the names of the user and the database in it are not
	// known. Nothing reads it here.
	credentials string
}

// spec returns the spec to render the database from.
func (d verificationDatabase) spec() database.Spec {
	spec := database.Spec{
		Owner:  objectparts.Owner{Kind: "restore", Name: d.name, Namespace: VerificationNamespace},
		Suffix: "-database", Field: "the backup",
		Engine: d.engine, Version: d.version, Image: d.image, Registry: d.registry, Replicas: 1, Storage: d.storage, StorageClass: d.storageClass,
		Resources: d.resources, Pods: d.pods, UserIDs: d.userIDs,
		DatabaseName: generatedName, Username: generatedName, CredentialsSecret: d.credentials, Disposable: true,
	}
	return spec
}

// claim returns the name of the claim that the database uses.
func (d verificationDatabase) claim() string { return d.spec().PrimaryClaim() }

// start starts the database, or looks how far it is. Errors are the member's, or say
// that such a database cannot be rendered.
func (d verificationDatabase) start(ctx context.Context, member cluster.Cluster) (ready bool, err error) {
	objects, err := d.objects()
	if err != nil {
		return false, err
	}
	if err := d.makeNamespace(ctx, member); err != nil {
		return false, err
	}
	applier := apply.New(apply.Options{Client: member.GetClient(), Reader: member.GetAPIReader(), FieldManager: v1.HubFieldManager})
	for _, o := range objects {
		request := apply.Request{Intent: o.Resource, Uncached: true, Once: o.Once, Generate: o.Generate, Owned: managed}
		if _, err := applier.Apply(ctx, request); err != nil {
			return false, fmt.Errorf("writing %s: %w", component.KeyOf(o.Resource), err)
		}
	}
	pod := &corev1.Pod{}
	err = member.GetAPIReader().Get(ctx, client.ObjectKey{Namespace: VerificationNamespace, Name: d.spec().PrimaryPod()}, pod)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking at the database: %w", err)
	}
	return serves(pod), nil
}

// serves reports whether the pod of a database takes connections.
func serves(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// remove deletes everything, the claim and its volume as c does, and reports whether it
// is gone.
func (d verificationDatabase) remove(ctx context.Context, member cluster.Cluster, c cleaner) (gone bool, err error) {
	objects, err := d.objects()
	if err != nil {
		return false, err
	}
	// An earlier version made a copy of the application's credentials.
	all := []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: VerificationNamespace, Name: d.name + "-credentials"}}}
	for _, o := range objects {
		if resource, ok := o.Resource.DeepCopyObject().(client.Object); ok {
			all = append(all, resource)
		}
	}
	gone = true
	for _, o := range all {
		err := member.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			same := client.Preconditions{UID: new(o.GetUID())}
			err = member.GetClient().Delete(ctx, o, same, client.PropagationPolicy(metav1.DeletePropagationBackground))
		}
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return false, fmt.Errorf("deleting %T %q: %w", o, o.GetName(), err)
		default:
			gone = false
		}
	}
	claim, err := c.claim(ctx, client.ObjectKey{Namespace: VerificationNamespace, Name: d.claim()})
	return gone && claim, err
}

// makeNamespace makes the namespace if it is not there.
func (d verificationDatabase) makeNamespace(ctx context.Context, member cluster.Cluster) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: VerificationNamespace, Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy}}}
	err := member.GetClient().Create(ctx, namespace, client.FieldOwner(v1.HubFieldManager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the namespace %s: %w", VerificationNamespace, err)
	}
	return nil
}

// objects returns the objects of a database without an application: it has no
// PodDisruptionBudget, and is not dumped.
func (d verificationDatabase) objects() ([]component.Object, error) {
	rendered, err := database.Render(d.spec())
	if err != nil {
		return nil, fmt.Errorf("rendering a database to verify the backup: %w", err)
	}
	return rendered.Objects, nil
}

func managed(live component.Resource) bool {
	return live.GetLabels()[v1.ManagedByLabel] == v1.ManagedBy
}
