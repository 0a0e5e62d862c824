package ui

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// writers is how many objects of the large fleet are created at a time.
const writers = 16

// BenchmarkCaches measures how long the command reads a hub with 500 members, 2,000 shops of the sample's size and a
// Backup of each, until it prints the address of the page.
func BenchmarkCaches(b *testing.B) {
	hub := fleettest.Start(b, fleet.Options{Members: []fleet.ClusterSpec{{Name: "hub", APIServerOnly: true}}}).Member("hub")
	if err := hub.ApplyFolder(b.Context(), "../../config/crd/bases"); err != nil {
		b.Fatal(err)
	}
	c := framework.Admin(b, hub)
	for _, namespace := range []string{config.Namespace, "production"} {
		framework.CreateNamespace(b, c, namespace)
	}
	objects := stored(newLarge(time.Now()))
	workqueue.ParallelizeUntil(b.Context(), writers, len(objects), func(i int) {
		if err := createWithStatus(b.Context(), c, objects[i]); err != nil {
			b.Error(err)
		}
	})
	for b.Loop() {
		serve(b, hub).stop()
	}
}

// stored returns the objects of a fleet with a spec.
func stored(l *large) []client.Object {
	var objects []client.Object
	for i := range l.known.Members {
		objects = append(objects, &l.known.Members[i])
	}
	for i := range l.known.Apps {
		app := &l.known.Apps[i]
		app.Spec = apitest.Seed().Spec
		backup := apitest.Backup(app.Name).Namespace(app.Namespace).Of(app.Name, app.Status.Clusters[0].Name).Phase(v1.BackupCompleted).Obj()
		objects = append(objects, app, backup)
	}
	return objects
}

// createWithStatus creates an object, and then writes its status.
func createWithStatus(ctx context.Context, c client.Client, object client.Object) error {
	next, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object", object)
	}
	if err := c.Create(ctx, object); err != nil {
		return err
	}
	next.SetUID(object.GetUID())
	next.SetResourceVersion(object.GetResourceVersion())
	return c.Status().Update(ctx, next)
}
