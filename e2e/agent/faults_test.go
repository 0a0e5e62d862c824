package agent_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testFaults injects faults between an agent and its API server while the shop is edited, and a
// child deleted.
func (s *suite) testFaults(t *testing.T) {
	t.Helper()
	c := s.Fleet.Member(us)
	proxy := faults.Start(t, faults.Target{Server: c.Server(), Authority: c.AdminConfig().CAData})
	through, err := proxy.Kubeconfig(framework.Kubeconfig(t, c, config.SpokeServiceAccount))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, through, 0o600); err != nil {
		t.Fatal(err)
	}
	s.stopAgent[us]()
	s.startAgentWith(t, us, kubeconfig)
	s.awaitReady(t, us, v1.ModeAgent)
	before := s.Mark(t)

	writes := faults.Match{Verbs: []string{"create", "update", "patch"}, Namespace: s.shop.Namespace}
	replicas := *s.shop.Spec.Frontend.Replicas
	for i, action := range []faults.Action{
		faults.Answer(http.StatusConflict, 0), faults.Answer(http.StatusTooManyRequests, time.Second),
		faults.Answer(http.StatusInternalServerError, 0), faults.ResetStream(), faults.DropResponse(),
	} {
		few := writes
		few.Times = 2
		f := proxy.Inject(few, action)
		framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(replicas + int32(i+1)%2) })
		s.AwaitRunning(t, s.shop, euRegion, usRegion)
		if f.Fired() == 0 {
			t.Errorf("fault %d met no request", i)
		}
		f.Remove()
	}

	proxy.Partition()
	frontend := s.deleteFrontend(t)
	framework.Pause(t, time.Second)
	proxy.Heal()
	framework.Await(t, s.Members[us], frontend.DeepCopy(), "the frontend to be made again", func(d *appsv1.Deployment) error {
		if d.UID == frontend.UID {
			return errors.New("the old one is there")
		}
		return nil
	})
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = &replicas })
	s.AwaitRunning(t, s.shop, euRegion, usRegion)
	if deletes := s.writes(t, before, us).Deletes(); len(deletes) > 0 {
		t.Errorf("deleted:\n%s", deletes)
	}
	s.stopAgent[us]()
	s.startAgent(t, us)
	s.awaitReady(t, us, v1.ModeAgent)
}

// deleteFrontend deletes the shop's frontend in the member with the agent, and returns it.
func (s *suite) deleteFrontend(t *testing.T) *appsv1.Deployment {
	t.Helper()
	frontend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name + "-frontend"}}
	if err := s.Members[us].Get(t.Context(), client.ObjectKeyFromObject(frontend), frontend); err != nil {
		t.Fatal(err)
	}
	if err := s.Members[us].Delete(t.Context(), frontend.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	return frontend
}
