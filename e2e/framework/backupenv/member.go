package backupenv

import (
	"context"
	"errors"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// RunMember does once what the controllers, kubelets and the storage driver of each member
// would do: it binds claims, lets go of what is deleted, deletes released volumes, runs the
// database's pod while no Restore has stopped it, the pods of StatefulSets, and Jobs if
// JobExit says how they end.
func (e *Env) RunMember(t *testing.T) {
	t.Helper()
	for _, c := range []client.WithWatch{e.WithWatch, e.Other} {
		if c == nil {
			continue
		}
		m := memberControllers{WithWatch: c, env: e}
		for _, run := range []func(context.Context) error{m.runSnapshots, m.runClaims, m.runVolumes, m.runPods} {
			if err := run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		e.runJobs(t, c)
	}
}

// runJobs runs the Jobs of each member, if the test says how they end.
func (e *Env) runJobs(t *testing.T, c client.WithWatch) {
	t.Helper()
	if e.JobExit == nil {
		return
	}
	there := *e
	there.WithWatch = c
	for _, job := range there.jobs(t) {
		there.endJob(t, &job, e.JobExit(t, &job))
	}
}

// memberControllers acts on the objects of one member.
type memberControllers struct {
	client.WithWatch
	env *Env
}

// runClaims binds claims that name their volume, and lets go of those that are deleted.
func (m memberControllers) runClaims(ctx context.Context) error {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := m.List(ctx, claims); err != nil {
		return err
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		var err error
		switch {
		case !c.DeletionTimestamp.IsZero():
			err = m.removeFinalizers(ctx, c)
		case c.Status.Phase != corev1.ClaimBound && c.Spec.VolumeName != "":
			err = m.bind(ctx, c)
		case c.Spec.DataSource != nil && c.Spec.VolumeName == "":
			err = m.provision(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bind binds a claim to the volume that it names, unless another claim has that.
func (m memberControllers) bind(ctx context.Context, c *corev1.PersistentVolumeClaim) error {
	pv := &corev1.PersistentVolume{}
	if err := m.Get(ctx, client.ObjectKey{Name: c.Spec.VolumeName}, pv); err != nil {
		return client.IgnoreNotFound(err)
	}
	ref := pv.Spec.ClaimRef
	if ref == nil {
		ref = &corev1.ObjectReference{Namespace: c.Namespace, Name: c.Name}
	}
	if ref.Namespace != c.Namespace || ref.Name != c.Name || ref.UID != "" && ref.UID != c.UID {
		return nil
	}
	ref.UID = c.UID
	pv.Spec.ClaimRef = ref
	if err := m.Update(ctx, pv); err != nil {
		return err
	}
	c.Status.Phase = corev1.ClaimBound
	return m.Status().Update(ctx, c)
}

// runVolumes deletes the volumes whose claims are gone and whose policy is Delete, as the driver does.
func (m memberControllers) runVolumes(ctx context.Context) error {
	all := &corev1.PersistentVolumeList{}
	if err := m.List(ctx, all); err != nil {
		return err
	}
	for i := range all.Items {
		pv := &all.Items[i]
		ref := pv.Spec.ClaimRef
		if pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete || ref == nil || ref.UID == "" {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{}
		err := m.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, claim)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil && claim.UID == ref.UID {
			continue
		}
		m.env.Cloud.RemoveVolume(pv.Spec.CSI.VolumeHandle)
		if err := errors.Join(m.Delete(ctx, pv), m.removeFinalizers(ctx, pv)); err != nil {
			return err
		}
	}
	return nil
}

// removeFinalizers removes the finalizers of an object that is deleted.
func (m memberControllers) removeFinalizers(ctx context.Context, o client.Object) error {
	before := o.DeepCopyObject().(client.Object)
	o.SetFinalizers(nil)
	return client.IgnoreNotFound(m.Patch(ctx, o, client.MergeFrom(before)))
}

// runPods runs the pod of the shop's database unless a Restore has stopped it, the first pod
// of each StatefulSet, and no pod whose StatefulSet is gone.
func (m memberControllers) runPods(ctx context.Context) error {
	app, sets, pods := &v1.EcommerceApp{}, &appsv1.StatefulSetList{}, &corev1.PodList{}
	placed := m.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: Shop}, app)
	if err := errors.Join(client.IgnoreNotFound(placed), m.List(ctx, sets), m.List(ctx, pods)); err != nil {
		return err
	}
	shop := client.ObjectKey{Namespace: Namespace, Name: render.DatabasePod(Shop)}
	stopped := app.Annotations[v1.RestoringAnnotation] != ""
	missing := map[client.ObjectKey]bool{shop: placed == nil && !stopped}
	for i := range sets.Items {
		missing[client.ObjectKey{Namespace: sets.Items[i].Namespace, Name: sets.Items[i].Name + "-0"}] = true
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		key := client.ObjectKeyFromObject(pod)
		if ends := key.Namespace != Namespace && metav1.GetControllerOf(pod) == nil || key == shop && stopped; ends && !missing[key] {
			if err := m.Delete(ctx, pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		delete(missing, key)
	}
	for key, is := range missing {
		if !is {
			continue
		}
		if err := m.runPod(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// runPod runs a pod that is ready at once.
func (m memberControllers) runPod(ctx context.Context, key client.ObjectKey) error {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			Containers:                   []corev1.Container{{Name: database.Container, Image: "database"}},
		},
	}
	if err := errors.Join(createServiceAccount(ctx, m, key.Namespace), m.Create(ctx, pod)); err != nil {
		return err
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return m.Status().Update(ctx, pod)
}

// createServiceAccount creates the account without which there are no pods in a namespace.
func createServiceAccount(ctx context.Context, c client.Client, namespace string) error {
	err := c.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Changes reports changes of the member to controllers. It is safe for concurrent use.
type Changes struct {
	mu    sync.Mutex
	calls []func(string)
}

// OnChange implements members.Changes; stop does nothing, because the manager ends with the
// test.
func (c *Changes) OnChange(call func(name string)) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, call)
	return func() {}
}

// Names implements members.Changes. No member changes before the controllers start.
func (c *Changes) Names() []string { return nil }

// Notify reports a change of the member.
func (c *Changes) Notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		call(Member)
	}
}
