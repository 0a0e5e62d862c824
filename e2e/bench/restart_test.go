package bench_test

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// restarts is how often the hub is restarted.
	restarts = 3
	// The hub is quiet when it has used less than idleShare of a core for quietTime, looked at
	// once in each quietStep.
	quietTime = 3 * time.Second
	quietStep = 100 * time.Millisecond
	idleShare = 0.1
	// initialPages is the Accept header of the bare lists.
	initialPages = "application/vnd.kubernetes.protobuf,application/json"
)

// measureRestart restarts the hub with the applications of the burst. The baseline lists what the hub
// has listed, in all clusters at once, and decodes nothing.
func (f *fixture) measureRestart(b *testing.B) {
	b.Helper()
	r := f.burst(b)
	f.awaitQuiet(b)
	var own, bare, used []time.Duration
	writes := 0
	for range restarts {
		f.process.stop()
		from := f.Mark(b)
		f.startHub(b)
		own = append(own, f.awaitQuiet(b).Sub(f.process.started))
		used = append(used, f.process.cpu(b))
		// The log has a watch when that has ended.
		f.process.stop()
		framework.Pause(b, time.Second)
		reads := map[*cluster][]string{}
		for _, c := range append(slices.Clone(f.members), f.hub) {
			log := from.By(b, c.Cluster, hubAccount)
			written := log.Writes().Except("events")
			writes += len(written)
			if len(written) > 0 {
				b.Logf("written to %s:\n%s", c.Name(), written)
			}
			reads[c] = listed(b, log)
		}
		bare = append(bare, list(b, reads))
		f.startHub(b)
		f.awaitQuiet(b)
	}
	f.once(b, fmt.Sprintf("restart with %d shops × %d → the hub is quiet", r.shops, r.members), percentile(own, 50), "bare lists", percentile(bare, 50))
	f.value(b, "… processor time of a restart", "%s", seconds(percentile(used, 50)))
	f.value(b, fmt.Sprintf("… writes in %d restarts", restarts), "%d", writes)
}

// awaitQuiet blocks until the hub is quiet, and returns since when.
func (f *fixture) awaitQuiet(b *testing.B) time.Time {
	b.Helper()
	since, used := time.Now(), f.process.cpu(b)
	for time.Since(since) < quietTime {
		framework.Pause(b, quietStep)
		now := f.process.cpu(b)
		if float64(now-used) > idleShare*float64(time.Since(since)) {
			since, used = time.Now(), now
		}
	}
	return since
}

// listed returns the collections that were read from the start, as URIs without the parameters of
// a watch.
func listed(b *testing.B, log audit.Log) []string {
	b.Helper()
	var found []string
	for _, e := range log {
		if e.Verb != "list" && !e.InitialEvents() {
			continue
		}
		uri, err := url.ParseRequestURI(e.URI)
		if err != nil {
			b.Fatal(err)
		}
		query := url.Values{}
		for _, parameter := range []string{"labelSelector", "fieldSelector"} {
			if value := uri.Query().Get(parameter); value != "" {
				query.Set(parameter, value)
			}
		}
		found = append(found, uri.Path+"?"+query.Encode())
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// list reads collections of all clusters at once, over new connections, and returns the time that
// it takes.
func list(b *testing.B, reads map[*cluster][]string) time.Duration {
	b.Helper()
	var group sync.WaitGroup
	began := time.Now()
	for c, uris := range reads {
		client, err := rest.HTTPClientFor(rest.CopyConfig(c.config))
		if err != nil {
			b.Fatal(err)
		}
		for _, uri := range uris {
			group.Go(func() {
				request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, c.Server()+uri, http.NoBody)
				if err != nil {
					b.Error(err)
					return
				}
				request.Header.Set("Accept", initialPages)
				response, err := client.Do(request)
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, response.Body)
				if err = cmp.Or(err, response.Body.Close()); err != nil || response.StatusCode >= http.StatusBadRequest {
					b.Errorf("listing %s of %s: %d, %v", uri, c.Name(), response.StatusCode, err)
				}
			})
		}
	}
	group.Wait()
	return time.Since(began)
}
