package cloud_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws"
	awsobjects "github.com/shopfleet/shopfleet/cloud/aws/objectstore"
	"github.com/shopfleet/shopfleet/cloud/azure"
	azureobjects "github.com/shopfleet/shopfleet/cloud/azure/objectstore"
	"github.com/shopfleet/shopfleet/cloud/gcp"
	gcpobjects "github.com/shopfleet/shopfleet/cloud/gcp/objectstore"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi/driver"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
	"github.com/shopfleet/shopfleet/hub/data/restore"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

func TestMain(m *testing.M) {
	framework.Silence()
	// The subtests of the clouds wait and do not compute: all run at the same time.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(clouds)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

const (
	namespace = "shop"
	// shop is the application that runs on one member of each cloud and a local one.
	shop = "shop"
	// A volume of the size least is enough for the operations that the profile fast asks for everywhere. It grows to
	// the size storage.
	least, storage = "16Gi", "20Gi"
	// clouds is how many there are.
	clouds = 3
	// second is the member in the region that copies of aws go to.
	second = "aws-us"
)

// suite is an environment whose members' volumes are in fakes of clouds.
type suite struct {
	*framework.Environment
	providers []*provider
	// kubelets end the pods of Jobs, by member.
	kubelets map[string]*kubelet

	// app is the shop; often is one that is backed up every minute.
	app, often *v1.EcommerceApp
	// books is one that is dumped, daybook one that is dumped every minute.
	books, daybook *v1.EcommerceApp
	// failing is a Backup whose Job fails.
	failing *v1.Backup
	// safeMode is that of the next hub that is started.
	safeMode bool
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{
		kubelets: map[string]*kubelet{}, providers: []*provider{newAWS(t), newGCP(t), newAzure(t)},
	}
	s.Environment = framework.New(t, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}, Members: members()}, Hub: s.hubOptions,
	})
	s.ExpectDeletes(
		// Databases beside the application's, in which backups are verified.
		invariants.Expected{Namespace: restore.VerificationNamespace},
		// The orders of Jobs that have sent a dump.
		invariants.Expected{Resource: "secrets", Name: "*-send"},
		// A database whose volumes grow gets another StatefulSet, and keeps its pods and claims.
		invariants.Expected{Resource: "statefulsets", Namespace: "shop", Name: "shop-database"},
	)
	for _, m := range members() {
		s.kubelets[m.Name] = playJobs(t, s.Fleet.Member(m.Name))
		if p := s.providerOf(m.Name); p != nil {
			playing, err := driver.Play(t.Context(), driver.Of(s.Fleet.Member(m.Name)), p.optionsIn(m.Region), os.Stderr)
			if err != nil {
				t.Fatal(err)
			}
			s.Run("the driver in "+m.Name, playing.Run)
		}
	}
	return s
}

// hubOptions adds the adapters of the clouds, and shortens the waits to a tenth, of which
// none is longer than longestWait.
func (s *suite) hubOptions(o *setup.Options) {
	o.SafeMode = s.safeMode
	o.Clouds = cloud.Registry{v1.ProviderAWS: aws.Connect, v1.ProviderGCP: gcp.Connect, v1.ProviderAzure: azure.Connect}
	o.Buckets = cloud.Buckets{v1.ProviderAWS: awsobjects.Open, v1.ProviderGCP: gcpobjects.Open, v1.ProviderAzure: azureobjects.Open}
	o.SpokeImage = "shopfleet-spoke:test"
	o.Waits = retry.Waits{Scale: 0.1, Longest: longestWait}
}

func members() []fleet.ClusterSpec {
	return []fleet.ClusterSpec{
		{Name: "aws-eu", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 2, Driverless: true, JobsByHand: true},
		{Name: second, Provider: fleet.AWS, Region: "us-east-1", Nodes: 2, Driverless: true, JobsByHand: true},
		{Name: "az-eu", Provider: fleet.Azure, Region: "westeurope", Nodes: 2, Driverless: true, JobsByHand: true},
		{Name: "gcp-eu", Provider: fleet.GCP, Region: "europe-west1", Nodes: 2, Driverless: true, JobsByHand: true},
		{Name: "local-1", Provider: fleet.Local, Nodes: 1, JobsByHand: true},
	}
}

// providerOf returns the cloud of a member; nil if it has none.
func (s *suite) providerOf(member string) *provider {
	for _, p := range s.providers {
		if p.member == member || p.name == v1.ProviderAWS && member == second {
			return p
		}
	}
	return nil
}

func TestCloud(t *testing.T) {
	s := newSuite(t)
	s.restrict(t)
	s.usurp(t)
	s.StartHub(t)
	var names []string
	for _, m := range members() {
		names = append(names, m.Name)
	}
	s.Register(t, names...)
	s.AwaitMembers(t, names...)
	const (
		accounts, classes, claims = "accounts are verified", "members get storage classes", "claims get volumes"
		scheduled, backups        = "scheduled applications run", "backup makes a snapshot and its copies"
		lost, throttled           = "lost response makes no second snapshot", "throttling delays a backup"
		retried, restarted        = "failed snapshot is retried", "restarted hub continues backups"
		dumped, sent              = "dump is a Job of the CronJob", "dump goes into the bucket of the account"
	)
	var steps framework.Steps
	steps.Add(accounts, s.testAccounts)
	steps.Add("unusable accounts say why", s.testUnusableAccounts)
	steps.Add(classes, s.testClasses, accounts)
	steps.Add("drift of storage classes is corrected", s.testClassDrift, classes)
	steps.Add(claims, s.testClaims, classes)
	steps.Add(scheduled, s.testScheduled, classes)
	steps.Add(backups, s.testBackups, claims)
	steps.Add("impossible backups say why", s.testImpossibleBackups, claims)
	steps.Add("snapshot that was deleted in the cloud is missed", s.testAudit, backups)
	steps.Add(lost, s.testLostResponse, backups)
	steps.Add(throttled, s.testThrottling, backups)
	steps.Add(retried, s.testFailedSnapshot, backups)
	steps.Add(restarted, s.testRestart, backups)
	steps.Add("deletion removes only snapshots of the hub", s.testDeletion, lost, throttled, retried, restarted)
	steps.Add(dumped, s.testDump, claims)
	steps.Add(sent, s.testSend, classes)
	steps.Add("dump is loaded from its claim and from any bucket", s.testLoad, sent)
	steps.Add("load waits until the application is placed", s.testLoadBeforePlacement, sent)
	steps.Add("dump is verified beside the database", s.testDumpVerification, sent)
	steps.Add("schedule makes backups", s.testScheduledBackups, scheduled)
	steps.Add("failed dump says why", s.testFailedDump, dumped)
	steps.Add("impossible restores say why", s.testImpossibleRestores, backups)
	const restored = "restore replaces the volume of a database"
	steps.Add(restored, s.testRestore, backups)
	steps.Add("restore undo puts the volume back", s.testUndo, restored)
	steps.Add("restore into another region precedes the application", s.testRestoreElsewhere, backups)
	steps.Add("snapshot is verified beside the database", s.testVerification, backups)
	steps.Add("lost Backup of a snapshot is rediscovered", s.testRediscovery, backups)
	steps.Add("lost Backup of a dump is rediscovered", s.testDumpRediscovery, sent)
	steps.Add("schedule makes a Backup for each dump", s.testScheduledDumps, scheduled)
	steps.Add("safe mode changes nothing in clouds", s.testSafeMode, backups)
	steps.Add("idle hub writes nothing", s.testIdle, backups, sent)
	steps.Add("backups outlive their namespace", s.testNamespaceDeletion, backups)
	steps.Run(t)
}

// aws returns the cloud with two members.
func (s *suite) aws() *provider { return s.providers[0] }

// each runs a test for each cloud at the same time.
func (s *suite) each(t *testing.T, test func(*testing.T, *provider)) {
	t.Helper()
	t.Run("in", func(t *testing.T) {
		for _, p := range s.providers {
			t.Run(p.account(), func(t *testing.T) {
				t.Parallel()
				test(t, p)
			})
		}
	})
}

// newShop returns an application with a database.
func newShop(name string, clusters ...string) *v1.EcommerceApp {
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.EcommerceAppSpec{
			Image: "shop:v1", Placement: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: clusters}},
			Database: &v1.Database{
				Engine: v1.EnginePostgreSQL, Version: "13.4", Storage: least, StorageProfile: v1.StorageFast,
				Backup: v1.BackupPolicy{Enabled: true, Schedule: "0 2 1 1 *"},
			},
		},
	}
}

// claim returns the claim of the shop's database in a member.
func (s *suite) claim(t *testing.T, member string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	key := client.ObjectKey{Namespace: namespace, Name: render.DatabaseClaims(shop)[0]}
	if err := s.Members[member].Get(t.Context(), key, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

// volume returns the PersistentVolume of a name in a member.
func (s *suite) volume(t *testing.T, member, name string) *corev1.PersistentVolume {
	t.Helper()
	pv := &corev1.PersistentVolume{}
	if err := s.Members[member].Get(t.Context(), client.ObjectKey{Name: name}, pv); err != nil {
		t.Fatal(err)
	}
	return pv
}

// awaitEvent waits until people can read of an object what happened.
func (s *suite) awaitEvent(t *testing.T, about client.Object, reason string) {
	t.Helper()
	framework.Eventually(t, "the event "+reason+" about "+about.GetName(), func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := s.Hub.List(ctx, events); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.UID == about.GetUID() && e.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(events.Items))
	})
}

// discard deletes a Backup together with its data.
func (s *suite) discard(t *testing.T, b *v1.Backup) {
	t.Helper()
	framework.Edit(t, s.Hub, b, func(b *v1.Backup) { b.Spec.Deletion = v1.DeletionDelete })
	s.Delete(t, b)
}

// awaitCondition waits until a condition of an object of the hub is as it should be, and
// leaves the object in o.
func (s *suite) awaitCondition(t *testing.T, o client.Object, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	return framework.AwaitCondition(t, s.Hub, o, metav1.Condition{Type: kind, Status: status, Reason: reason})
}
