package ui

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/largefleet"
)

const (
	// writers is how many objects of the large fleet are created at a time.
	writers = 16
	// maxRead bounds how many times as long as bare lists the command may read.
	maxRead = 4
)

// BenchmarkCaches measures how long the command reads a hub with the large fleet, until it prints the address of the page.
// The baseline are lists of the same objects, one after the other.
func BenchmarkCaches(b *testing.B) {
	hub := fleettest.Start(b, fleet.Options{Members: []fleet.ClusterSpec{{Name: "hub", APIServerOnly: true}}}).Member("hub")
	if err := hub.ApplyFolder(b.Context(), "../../config/crd/bases"); err != nil {
		b.Fatal(err)
	}
	c := framework.Admin(b, hub)
	for _, namespace := range []string{config.Namespace, largefleet.Namespace} {
		framework.CreateNamespace(b, c, namespace)
	}
	objects := stored(largefleet.New(time.Now()))
	workqueue.ParallelizeUntil(b.Context(), writers, len(objects), func(i int) {
		if err := createWithStatus(b.Context(), c, objects[i]); err != nil {
			b.Error(err)
		}
	})
	var bare, read time.Duration
	for b.Loop() {
		begun := time.Now()
		for _, list := range []client.ObjectList{&v1.EcommerceAppList{}, &v1.MemberClusterList{}, &v1.BackupList{}, &v1.RestoreList{}} {
			if err := c.List(b.Context(), list); err != nil {
				b.Fatal(err)
			}
		}
		bare += time.Since(begun)
		begun = time.Now()
		served := serve(b, hub)
		read += time.Since(begun)
		served.stop()
	}
	b.ReportMetric(read.Seconds()/float64(b.N), "s/read")
	b.ReportMetric(bare.Seconds()/float64(b.N), "s/bare-lists")
	b.ReportMetric(float64(len(objects)), "objects")
	if read > maxRead*bare {
		b.Errorf("it read for %s, want at most %d times the %s of bare lists", read, maxRead, bare)
	}
}

// stored returns the objects of a fleet.
func stored(s *hubstate.Snapshot) []client.Object {
	var objects []client.Object
	for i := range s.Members {
		objects = append(objects, &s.Members[i])
	}
	for i := range s.Apps {
		objects = append(objects, &s.Apps[i])
	}
	for i := range s.Backups {
		objects = append(objects, &s.Backups[i])
	}
	for i := range s.Restores {
		objects = append(objects, &s.Restores[i])
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
