package processes_test

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

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// spokeSuite is two spokes in one cluster, without a hub.
type spokeSuite struct {
	*environment
}

func TestSpoke(t *testing.T) {
	s := &spokeSuite{newEnvironment(t, options{
		process: "spoke", flags: []string{"--leader-elect"}, account: config.SpokeServiceAccount, lease: "shopfleet-spoke.ecommerce.io",
		fleet: framework.Options{
			Fleet:     fleet.Options{Members: []fleet.ClusterSpec{{Name: "solo", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 3}}},
			Manifests: map[string][]string{"solo": {"config/crd/bases", "config/rbac/spoke"}},
		},
		knownSecrets: []string{"solo production/my-ecommerce-app-database-credentials password"},
	})}
	s.run(t, s.testShop, s.testLogKeys, func(steps *framework.Steps) {
		steps.Add("killed leader is replaced", s.testLeaderKilled, running)
		steps.Add("MySQLCluster with a finalizer of its user", s.testMySQLCluster, elected)
		steps.Add("certificate is renewed without a restart", s.testCertificateRenewal, elected)
	})
}

func (s *spokeSuite) testShop(t *testing.T) {
	t.Helper()
	framework.Create(t, s.admin, s.shop)
	s.awaitRunning(t, s.shop)
}

func (s *spokeSuite) testLeaderKilled(t *testing.T) {
	t.Helper()
	before := s.markSettled(t)
	took := s.replaceLeader(t, func(p *program) { p.signal(t, syscall.SIGKILL) })
	if took > takeover {
		t.Errorf("the standby led after %s, want %s at most", took, takeover)
	}
	t.Logf("the standby led %s after the kill", took.Round(time.Millisecond))
	s.checkUnchanged(t, before)
}

// testCertificateRenewal serves with a certificate from files, and replaces them as the
// kubelet does for a mounted Secret.
func (s *spokeSuite) testCertificateRenewal(t *testing.T) {
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
			return fmt.Errorf("it presents another certificate (%w)", err)
		}
		return nil
	}
	newReader(t, p).checkAuthentication(t, s.who, false)
	if err := shows(t.Context(), first); err != nil {
		t.Error(err)
	}
	second := putCertificate(t, dir)
	framework.Eventually(t, "the new certificate", func(ctx context.Context) error { return shows(ctx, second) })
	newReader(t, p).checkAuthentication(t, s.who, false)
	p.terminate(t)
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

func (s *spokeSuite) testLogKeys(t *testing.T) {
	t.Helper()
	clusters := s.loggedClusters(t)
	t.Logf("reconciliations, with clusters: %v", clusters)
	if named, ok := clusters["ecommerceapp"]; !ok || len(named) != 1 {
		t.Errorf("the controller of shops logged: %t, with clusters %q, want one", ok, named)
	}
}
