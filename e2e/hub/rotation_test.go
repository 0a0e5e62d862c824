package hub_test

import (
	"fmt"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
)

// rotation gives the member eu-1 other credentials while the shop is edited.
type rotation struct {
	*suite
	edits int
}

// testRotation edits the shop before, during and after rotations that fail, and one that
// succeeds. Each edit must reach the member.
func (s *suite) testRotation(t *testing.T) {
	t.Helper()
	r := &rotation{suite: s}
	good := framework.Kubeconfig(t, s.Fleet.Member("eu-1"), config.HubServiceAccount)
	r.edit(t) // The hub may have been restarted, and must be connected before its credentials are replaced.
	before := s.Mark(t)
	for reason, bad := range map[string][]byte{
		v1.ReasonUnauthorized: changed(t, good, func(_ *api.Cluster, user *api.AuthInfo) { user.Token = "unknown" }),
		v1.ReasonCertificateInvalid: changed(t, good, func(cluster *api.Cluster, _ *api.AuthInfo) {
			cluster.CertificateAuthorityData = s.Fleet.Member("us-1").AdminConfig().CAData
		}),
		v1.ReasonClusterIdentityChanged: framework.Kubeconfig(t, s.Fleet.Member("us-1"), config.HubServiceAccount),
	} {
		r.store(t, bad)
		r.edit(t)
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
		framework.AwaitCondition(t, s.Hub, m, metav1.Condition{Type: v1.ConditionCredentialsValid, Status: metav1.ConditionFalse, Reason: reason})
		if c := framework.Condition(m.Status.Conditions, v1.ConditionReady); c.Status != metav1.ConditionTrue {
			t.Errorf("%s: Ready is %+v, want True: the previous kubeconfig works", reason, c)
		}
		r.edit(t)
	}
	r.store(t, good)
	access, err := kubeconfig.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	for swapped := false; !swapped; {
		m := &v1.MemberCluster{}
		if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: "eu-1"}, m); err != nil {
			t.Fatal(err)
		}
		expires := m.Status.CredentialsExpirationTime
		swapped = expires != nil && expires.Unix() == access.ExpiresAt.Unix()
		r.edit(t)
	}
	r.repair(t)
	t.Logf("%d edits", r.edits)
	for _, name := range memberNames() {
		// The repaired Deployment was deleted by the test.
		if deletes := s.Since(t, before, s.Fleet.Member(name)).Deletes(); len(deletes) > 0 {
			t.Errorf("%s: the hub deleted:\n%s", name, deletes)
		}
	}
}

// changed returns a changed kubeconfig.
func changed(t *testing.T, raw []byte, change func(*api.Cluster, *api.AuthInfo)) []byte {
	t.Helper()
	file, err := clientcmd.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	current := file.Contexts[file.CurrentContext]
	change(file.Clusters[current.Cluster], file.AuthInfos[current.AuthInfo])
	if raw, err = clientcmd.Write(*file); err != nil {
		t.Fatal(err)
	}
	return raw
}

func (r *rotation) store(t *testing.T, kubeconfig []byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "eu-1"}}
	framework.Edit(t, r.Hub, secret, func(s *corev1.Secret) { s.Data[v1.KubeconfigKey] = kubeconfig })
}

// edit changes the shop, and waits until the member has the change.
func (r *rotation) edit(t *testing.T) {
	t.Helper()
	r.edits++
	value := strconv.Itoa(r.edits)
	framework.Edit(t, r.Hub, r.shop, func(app *v1.EcommerceApp) {
		app.Spec.Ingress.Annotations = map[string]string{"example.com/edit": value}
	})
	current := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: r.shop.Namespace, Name: r.shop.Name}}
	framework.Await(t, r.Members["eu-1"], current, "edit "+value+" to reach eu-1", func(app *v1.EcommerceApp) error {
		if got := app.Spec.Ingress.Annotations["example.com/edit"]; got != value {
			return fmt.Errorf("the copy has edit %q", got)
		}
		return nil
	})
}

// repair deletes a child in the member, and waits until the hub has created it again.
func (r *rotation) repair(t *testing.T) {
	t.Helper()
	frontend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: r.shop.Namespace, Name: r.shop.Name + "-frontend"}}
	member := r.Members["eu-1"]
	if err := member.Get(t.Context(), client.ObjectKeyFromObject(frontend), frontend); err != nil {
		t.Fatal(err)
	}
	uid := frontend.UID
	if err := member.Delete(t.Context(), frontend); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, member, frontend, "the frontend to be created again", func(d *appsv1.Deployment) error {
		if d.UID == uid {
			return fmt.Errorf("it is the one of UID %s", uid)
		}
		return nil
	})
}
