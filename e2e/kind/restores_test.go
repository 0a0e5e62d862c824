package kind

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
	"github.com/shopfleet/shopfleet/e2e/kind/images"
	"github.com/shopfleet/shopfleet/e2e/kind/volumes"
)

const (
	// outlet is an application whose databases are on volumes of a cloud, and cloudAccount the name of the CloudAccount and of
	// its Secret.
	outlet       = "outlet"
	cloudAccount = "volumes"
)

// testRestores restores volumes from snapshots while customers order: in place, and into the other cluster when that of
// the source is gone.
func (e *environment) testRestores(t *testing.T) {
	t.Helper()
	drivers := e.openCloud(t)
	e.applyOutlet(t)
	source, target := e.regions[0], e.regions[1]
	customersOf := map[string]*customers{}
	for _, r := range e.regions {
		customersOf[r.name] = r.sendCustomers(t, outlet)
	}

	before, err := customersOf[source.name].placed(t.Context())
	if err != nil || len(before) == 0 {
		t.Fatalf("customers have placed %d orders: %v", len(before), err)
	}
	before = append(before, source.order(t, outlet))
	backup := e.snapshot(t, source, target)
	after := source.order(t, outlet)
	here := e.load(t, outlet+"-here", v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backup.Name}, Overwrite: true})
	e.awaitRestore(t, here, v1.RestoreCompleted, v1.ReasonCompleted)
	source.hasOrders(t, before, after)
	customersOf[source.name].again(t)

	e.lose(t, source, drivers)
	replaced := target.order(t, outlet)
	there := e.load(t, outlet+"-there", v1.RestoreSpec{
		BackupRef: v1.ObjectReference{Name: backup.Name}, ClusterRef: v1.ObjectReference{Name: target.name}, Overwrite: true,
	})
	e.awaitRestore(t, there, v1.RestoreCompleted, v1.ReasonCompleted)
	target.hasOrders(t, before, replaced)
	customersOf[target.name].again(t)

	e.hub.must(t, "delete", "ecommerceapp", outlet, "--namespace", namespace, "--timeout=4m")
	// The driver unmounts the volumes.
	target.gone(t, &corev1.Pod{ObjectMeta: objectMeta(outlet + "-database-0")})
}

// openCloud gives the members volumes of a cloud, and the hub its account. It returns the drivers by member.
func (e *environment) openCloud(t *testing.T) map[string]*volumes.Driver {
	t.Helper()
	key := ec2.Key{ID: "shopfleet-e2e", Secret: rand.Text(), Account: "123456789012", Name: "shopfleet"}
	cloud, err := volumes.New(t.Context(), key, e.hub.Cluster, func(err error) { t.Log(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // Databases run on the data, and their logs are collected next.
		}
		if err := cloud.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	served, err := e.env.Serve(t.Context(), cloud)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Stop(); err != nil {
			t.Error(err)
		}
	})
	e.trust(t, served.CA)
	e.openAccount(t, &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: cloudAccount}, Spec: v1.CloudAccountSpec{
		Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: key.Account}, Endpoint: served.Endpoint,
	}}, v1.ConditionReady, key)
	drivers := map[string]*volumes.Driver{}
	t.Cleanup(func() {
		for _, d := range drivers {
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
		}
	})
	for _, r := range e.regions {
		d, err := cloud.Start(t.Context(), r.Cluster, e.env.Registry(r.name), os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		drivers[r.name] = d
		e.hub.must(t, "patch", "membercluster", r.name, "--type=merge", "--patch",
			`{"spec":{"provider":"aws","cloudAccountRef":{"name":"`+cloudAccount+`"}}}`)
	}
	return drivers
}

// trust lets the hub trust a certificate authority for a cloud's API.
func (e *environment) trust(t *testing.T, ca []byte) {
	t.Helper()
	const name, folder = "cloud-ca", "/etc/cloud-ca"
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: name}, Data: map[string]string{"ca.crt": string(ca)}}
	e.hub.recreate(t, bundle)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"volumes": []any{map[string]any{"name": name, "configMap": map[string]any{"name": name}}},
		"containers": []any{map[string]any{
			"name": "hub", "env": []any{map[string]any{"name": "SSL_CERT_DIR", "value": folder}},
			"volumeMounts": []any{map[string]any{"name": name, "mountPath": folder, "readOnly": true}},
		}},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	e.hub.must(t, "patch", "deployment", "shopfleet-hub", "--namespace", config.Namespace, "--patch", string(patch))
	e.hub.must(t, "rollout", "status", "deployment/shopfleet-hub", "--namespace", config.Namespace, "--timeout", patience.String())
}

// applyOutlet applies the application whose databases are on volumes of the cloud, and waits until it runs.
func (e *environment) applyOutlet(t *testing.T) {
	t.Helper()
	app := &v1.EcommerceApp{TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp"}, ObjectMeta: objectMeta(outlet)}
	app.Spec.Database = &v1.Database{Engine: v1.EnginePostgreSQL, Version: "13.4", Storage: "1Gi", StorageProfile: v1.StorageStandard}
	app.Spec.Database.Backup = v1.BackupPolicy{Enabled: true, Schedule: "0 2 1 1 *"}
	app.Spec.Image = images.FrontendOld
	app.Spec.Frontend.Replicas = new(int32(1))
	app.Spec.Backend = v1.Workload{Image: images.BackendOld, Replicas: new(int32(1))}
	modest(app)
	e.applyApp(t, app)
	e.running(t, outlet)
}

// snapshot backs up the database in a region, with a copy in another.
func (e *environment) snapshot(t *testing.T, from, to *region) *v1.Backup {
	t.Helper()
	b := &v1.Backup{ObjectMeta: objectMeta(outlet + "-snapshot"), Spec: v1.BackupSpec{
		AppRef: v1.ObjectReference{Name: outlet}, ClusterRef: v1.ObjectReference{Name: from.name}, CopyToRegions: []string{to.Region},
	}}
	if err := e.hub.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	e.awaitBackup(t, b)
	return b
}

// hasOrders checks that the database of the outlet has the orders of before the snapshot, and not one that came after it.
func (r *region) hasOrders(t *testing.T, before []string, after string) {
	t.Helper()
	ids := r.inDatabase(t, outlet)
	for _, id := range before {
		if !slices.Contains(ids, id) {
			t.Errorf("order %s of before the snapshot is not in the database in %s", id, r.name)
		}
	}
	if slices.Contains(ids, after) {
		t.Errorf("order %s is in the database in %s, and came after the snapshot", after, r.name)
	}
}

// placed returns the orders that customers have placed.
func (c *customers) placed(ctx context.Context) ([]string, error) {
	lines, err := c.lines(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, line := range lines {
		if line.Order != "" {
			ids = append(ids, line.Order)
		}
	}
	return ids, nil
}

// again waits until customers, who saw errors meanwhile, order again.
func (c *customers) again(t *testing.T) {
	t.Helper()
	before, err := c.placed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fleettest.Within(t, patience, "customers to order again", func(ctx context.Context) error {
		if now, err := c.placed(ctx); err != nil || len(now) > len(before) {
			return err
		}
		return errWaiting
	})
}

// lose deletes a cluster with all that is in it, and detaches the member.
func (e *environment) lose(t *testing.T, r *region, drivers map[string]*volumes.Driver) {
	t.Helper()
	if err := drivers[r.name].Stop(); err != nil {
		t.Error(err)
	}
	delete(drivers, r.name)
	if err := clusters.Delete([]string{r.Name}, os.Stderr); err != nil {
		t.Fatal(err)
	}
	e.hub.must(t, "delete", "secret", r.name, "--namespace", config.Namespace)
	e.hub.must(t, "delete", "membercluster", r.name, "--timeout", patience.String())
}
