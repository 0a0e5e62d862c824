package restore

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestNamespaceIsGone checks that a namespace that was deleted before Bind is made again, and not taken for a volume that is gone.
func TestNamespaceIsGone(t *testing.T) {
	t.Parallel()
	r := retiredIn(t, emptyBefore, kept("new", ""))
	if err := r.member.Delete(t.Context(), &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	r.member = interceptor.NewClient(r.member.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if name := o.GetNamespace(); name != "" {
				if err := c.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}); err != nil {
					return err // As an API server answers.
				}
			}
			return c.Create(ctx, o, opts...)
		},
	})
	if after := r.pass(t, 4); after == nil || after.Status.Message == "" || r.claim(t) == nil {
		t.Errorf("the claim is %v, the Restore %+v", r.claim(t), after)
	} else if stalled := meta.FindStatusCondition(after.Status.Conditions, v1.ConditionStalled); stalled != nil {
		t.Errorf("it is Stalled: %+v", stalled)
	}
}
