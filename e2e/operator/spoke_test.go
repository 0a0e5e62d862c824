package operator_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/testenv"
)

// spokeSuite is two spokes in one cluster, without any hub.
type spokeSuite struct {
	*environment
}

func TestSpoke(t *testing.T) {
	s := newSpokeSuite(t)
	const elected, placed = "one leads and the other is ready", "application runs"
	var steps testenv.Steps
	steps.Add(elected, s.elects)
	steps.Add(placed, s.placed, elected)
	steps.Add("metrics and debugging require authentication", s.guards, elected)
	steps.Add("terminated leader hands over", s.handsOver, placed)
	steps.Add("killed leader is replaced", s.isKilled, placed)
	steps.Add("certificate is renewed without a restart", s.renews, elected)
	steps.Add("logs name what they are about", s.tells, placed)
	steps.Add("logs contain no secrets", s.keepsSecrets, placed)
	steps.Add("both exit cleanly", func(t *testing.T) {
		t.Helper()
		s.standby.endWell(t)
		s.leader.endWell(t)
	}, elected)
	steps.Run(t)
}

func newSpokeSuite(t *testing.T) *spokeSuite {
	t.Helper()
	s := &spokeSuite{environment: &environment{
		shop: shop(t, "production"), account: config.SpokeServiceAccount, binary: build(t, "spoke"),
		lease:  client.ObjectKey{Namespace: config.Namespace, Name: "shopfleet-spoke.ecommerce.io"},
		toFind: []string{"solo production/my-ecommerce-app-database-credentials password"},
	}}
	s.fleet = fleettest.Start(t, fleet.Options{
		Members: []fleet.ClusterSpec{{Name: "solo", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 3}},
	})
	solo := s.fleet.Member("solo")
	install(t, solo, "spoke", "crd/bases", "rbac/spoke")
	s.home = framework.Admin(t, solo)
	s.who = newTokens(t, s.home)
	s.args = []string{"--kubeconfig", kubeconfigOf(t, solo, s.account), "--leader-elect", "-v", "4"}
	t.Cleanup(func() { s.end(t) })
	return s
}

func (s *spokeSuite) placed(t *testing.T) {
	t.Helper()
	create(t, s.home, s.shop)
	awaitRunning(t, s.home, s.shop)
}

func (s *spokeSuite) isKilled(t *testing.T) {
	t.Helper()
	before := s.markSettled(t)
	took := s.succeed(t, func(p *program) { p.signal(t, syscall.SIGKILL) })
	if took > takeover {
		t.Errorf("the standby led after %s, want %s at most", took, takeover)
	}
	t.Logf("the standby led %s after the kill", took.Round(time.Millisecond))
	s.unchanged(t, before)
}

// renews serves with a certificate of its own, and replaces it as a mounted Secret is.
func (s *spokeSuite) renews(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	first := putCertificate(t, dir)
	p := s.start(t, "--metrics-cert-dir", dir)
	shows := func(ctx context.Context, want []byte) error {
		found, err := certificates(ctx, p)
		if err != nil {
			return err
		}
		if shown, err := certutil.EncodeCertificates(found...); err != nil || !slices.Equal(shown, want) {
			return fmt.Errorf("it shows another certificate (%w)", err)
		}
		return nil
	}
	newReader(t, p).checkGuards(t, s.who, false)
	if err := shows(t.Context(), first); err != nil {
		t.Error(err)
	}
	second := putCertificate(t, dir)
	fleettest.Within(t, bound, "the new certificate", func(ctx context.Context) error { return shows(ctx, second) })
	newReader(t, p).checkGuards(t, s.who, false)
	p.endWell(t)
}

// putCertificate makes a certificate, and puts it into a folder.
func putCertificate(t *testing.T, dir string) []byte {
	t.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name+".new"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return certificate
}

func (s *spokeSuite) tells(t *testing.T) {
	t.Helper()
	clusters := s.environment.tells(t)
	t.Logf("reconciliations, with clusters: %v", clusters)
	if named, ok := clusters["ecommerceapp"]; !ok || len(named) != 1 {
		t.Errorf("the controller of shops logged: %t, with clusters %q, want one", ok, named)
	}
}
