package backup

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

// TestCheckpoint checks that PostgreSQL writes a checkpoint before each request for a snapshot, MySQL is never asked,
// and what was requested without a checkpoint stays crash consistent.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		engine   v1.Engine
		before   v1.Consistency
		away     bool
		err      error
		want     v1.Consistency
		commands int
		events   int
	}{
		"postgresql":                      {engine: v1.EnginePostgreSQL, want: v1.ConsistencyApplication, commands: 1},
		"postgresql, again":               {engine: v1.EnginePostgreSQL, before: v1.ConsistencyApplication, want: v1.ConsistencyApplication, commands: 1},
		"postgresql, fails":               {engine: v1.EnginePostgreSQL, err: errNoPod, want: v1.ConsistencyCrash, commands: 1, events: 1},
		"postgresql, fails the next time": {engine: v1.EnginePostgreSQL, before: v1.ConsistencyApplication, err: errNoPod, want: v1.ConsistencyCrash, commands: 1, events: 1},
		"postgresql, failed before":       {engine: v1.EnginePostgreSQL, before: v1.ConsistencyCrash, want: v1.ConsistencyCrash},
		"postgresql, member away":         {engine: v1.EnginePostgreSQL, away: true, want: v1.ConsistencyCrash, events: 1},
		"mysql":                           {engine: v1.EngineMySQL, want: v1.ConsistencyCrash},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := events.NewFakeRecorder(10)
			w := newWork(nil, nil)
			w.options.Recorder = recorder
			ran := answers(t, w, tt.away, tt.err)
			w.backup.Status.Engine, w.backup.Status.Consistency = tt.engine, tt.before
			w.checkpoint(t.Context())
			var want []podexec.Container
			if tt.commands > 0 {
				want = []podexec.Container{{Pod: client.ObjectKey{Namespace: "shops", Name: "shop-database-0"}, Name: database.Container}}
			}
			if diff := cmp.Diff(want, *ran); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			if got := w.backup.Status.Consistency; got != tt.want {
				t.Errorf("it is %s consistent, want %s", got, tt.want)
			}
			if got := len(recorder.Events); got != tt.events {
				t.Errorf("%d events, want %d", got, tt.events)
			}
		})
	}
}

var errNoPod = errors.New("the pod is not there")

// answers lets commands in the database fail, or disconnects the member. It returns where they were run.
func answers(t *testing.T, w *work, away bool, err error) *[]podexec.Container {
	t.Helper()
	ran := new([]podexec.Container)
	w.options.Member = func(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
		if away {
			return nil, errNoPod
		}
		return nil, nil
	}
	w.options.Exec = func(ctx context.Context, _ cluster.Cluster, target podexec.Container, command podexec.Command) (string, error) {
		if _, bounded := ctx.Deadline(); !bounded || !strings.Contains(strings.Join(command.Args, " "), "CHECKPOINT") {
			t.Errorf("%q is run, with a deadline: %t", command.Args, bounded)
		}
		*ran = append(*ran, target)
		return "", err
	}
	return ran
}

// checkpoints checks that a checkpoint comes before the request for a snapshot, also of a hub that takes over before
// there was one.
func (c *crashes) checkpoints(t *testing.T) {
	key := c.create(t)
	var written []int
	c.exec = func() error {
		written = append(written, len(c.snapshots(key)))
		return nil
	}
	defer func() { c.exec = nil }()
	for _, p := range []*backupenv.Process{c.NewProcess(t, backupenv.Crash{At: 2, Arrives: true}), c.NewProcess(t, backupenv.Crash{})} {
		p.Run(t, c.reconciler(p), key, func() bool { return c.complete(t, key) })
	}
	if diff := cmp.Diff([]int{0, 0}, written); diff != "" {
		t.Errorf("snapshots there were at each checkpoint (-want +got):\n%s", diff)
	}
	if got := c.Backup(t, key.Name).Status.Consistency; got != v1.ConsistencyApplication {
		t.Errorf("it is %s consistent", got)
	}
}
