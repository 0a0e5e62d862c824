package backup

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// concludeRestorable sets the condition Restorable to False if it is known that a volume of the database
// cannot be restored to a cluster like its own. The snapshots are taken all the same: the data is in them.
func (w *work) concludeRestorable(o csi.Obstacle) {
	if o == (csi.Obstacle{}) {
		meta.RemoveStatusCondition(&w.backup.Status.Conditions, v1.ConditionRestorable)
		return
	}
	w.set(v1.ConditionRestorable, metav1.Condition{Status: metav1.ConditionFalse, Reason: o.Reason, Message: v1.Excerpt("The backup cannot be restored as it is: "+o.Message, steps.MaxMessage)})
}

// obstacle returns what prevents a restore of a volume of the database. What cannot be read is not known,
// and is none.
func (w *work) obstacle(ctx context.Context, c claim, volume cloud.Volume) csi.Obstacle {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	facts := csi.RestoreFacts{
		Provider: w.backup.Status.Provider, Region: w.backup.Status.Region, Driver: c.driver,
		Handle: c.ref.Handle, Volume: &volume, Class: w.class(ctx, c),
	}
	member, account := &v1.MemberCluster{}, &v1.CloudAccount{}
	if err := w.client.Get(ctx, client.ObjectKey{Name: w.backup.Spec.ClusterRef.Name}, member); err == nil {
		facts.NodeZones, facts.MayAttach = member.Status.Zones, member.Annotations[v1.AttachesVolumesAnnotation] == "true"
	}
	if err := w.client.Get(ctx, client.ObjectKey{Name: w.backup.Status.Account}, account); err == nil && account.Spec.Azure != nil {
		facts.Group = account.Spec.Azure.GroupOf(w.backup.Status.Region)
	}
	return facts.Obstacle()
}

// class returns the parameters of the StorageClass of a claim; nil if they are not known.
func (w *work) class(ctx context.Context, c claim) map[string]string {
	if c.class == "" {
		return nil
	}
	member, err := w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name))
	if err != nil {
		return nil
	}
	class := &storagev1.StorageClass{}
	if err := member.GetAPIReader().Get(ctx, client.ObjectKey{Name: c.class}, class); err != nil {
		return nil
	}
	return class.Parameters
}
