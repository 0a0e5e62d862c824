package dispatch

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// compared holds the applications that were found to be as new as each of their copies, since
// the process started: that a hub was restored from an older backup shows only in this
// comparison. It is safe for concurrent use.
type compared struct {
	mu    sync.Mutex
	known map[types.NamespacedName]latest
}

// latest is the highest generation of an application.
type latest struct {
	app        types.UID
	generation int64
}

func newCompared() *compared { return &compared{known: map[types.NamespacedName]latest{}} }

// has reports whether an application was compared, and has not become older since.
func (c *compared) has(app *v1.EcommerceApp) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.known[keyOf(app)]
	if last.app != app.UID || last.generation > app.Generation {
		return false
	}
	c.known[keyOf(app)] = latest{app.UID, app.Generation}
	return true
}

func (c *compared) add(app *v1.EcommerceApp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[keyOf(app)] = latest{app.UID, app.Generation}
}

func (c *compared) forget(app types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, app)
}

// Uncompared returns a cluster of an application whose copy was not compared with it since the
// process started, or has something that the hub does not know. It is empty once there is no such
// cluster, and stays so: later states are this process's own.
func (d *Dispatcher) Uncompared(app *v1.EcommerceApp) string {
	if d.compared.has(app) {
		return ""
	}
	for i := range app.Status.Clusters {
		name := app.Status.Clusters[i].Name
		queue := d.Get(name)
		if queue == nil {
			return name
		}
		if last, known := queue.reports.about(keyOf(app), app.UID); !known || last.failure != nil || last.unknown != "" {
			return name
		}
	}
	d.compared.add(app)
	return ""
}
