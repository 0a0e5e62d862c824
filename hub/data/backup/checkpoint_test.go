package backup

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

// TestCheckpoint checks that PostgreSQL writes a checkpoint before each request for a snapshot, MySQL is only asked for its
// position, and what was requested without a checkpoint stays crash consistent. The position is that before the first request,
// because a later one may find the snapshot of the first.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	const at, gtids = "7412345678901234567 1 0/16B3748", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
	for name, tt := range map[string]struct {
		engine   v1.Engine
		before   v1.BackupStatus
		answer   answer
		want     v1.BackupStatus
		commands int
		events   int
	}{
		"postgresql":                      {engine: v1.EnginePostgreSQL, answer: answer{output: at + "\n"}, want: checkpointed(at), commands: 1},
		"postgresql, no position":         {engine: v1.EnginePostgreSQL, want: checkpointed(""), commands: 1},
		"postgresql, another text":        {engine: v1.EnginePostgreSQL, answer: answer{output: at + " $(reboot)"}, want: checkpointed(""), commands: 1},
		"postgresql, again":               {engine: v1.EnginePostgreSQL, before: checkpointed("0 1 0/1"), answer: answer{output: at}, want: checkpointed("0 1 0/1"), commands: 1},
		"postgresql, by an earlier hub":   {engine: v1.EnginePostgreSQL, before: checkpointed(""), answer: answer{output: at}, want: checkpointed(""), commands: 1},
		"postgresql, fails":               {engine: v1.EnginePostgreSQL, answer: answer{output: at, err: errNoPod}, want: crashed(""), commands: 1, events: 1},
		"postgresql, fails the next time": {engine: v1.EnginePostgreSQL, before: checkpointed(at), answer: answer{err: errNoPod}, want: crashed(at), commands: 1, events: 1},
		"postgresql, failed before":       {engine: v1.EnginePostgreSQL, before: crashed(""), answer: answer{output: at}, want: crashed("")},
		"postgresql, member away":         {engine: v1.EnginePostgreSQL, answer: answer{away: true}, want: crashed(""), events: 1},
		"mysql":                           {engine: v1.EngineMySQL, answer: answer{output: gtids + "\n"}, want: crashed(gtids), commands: 1},
		"mysql, again":                    {engine: v1.EngineMySQL, before: crashed(gtids), answer: answer{output: gtids + "-6"}, want: crashed(gtids)},
		"mysql, fails":                    {engine: v1.EngineMySQL, answer: answer{err: errNoPod}, want: crashed(""), commands: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := events.NewFakeRecorder(10)
			w := newWork(nil, nil)
			w.options.Recorder = recorder
			ran := answers(t, w, tt.engine, tt.answer)
			w.backup.Status = tt.before
			w.backup.Status.Engine = tt.engine
			w.checkpoint(t.Context())
			var want []podexec.Container
			if tt.commands > 0 {
				want = []podexec.Container{{Pod: client.ObjectKey{Namespace: "shops", Name: "shop-database-0"}, Name: database.Container}}
			}
			if diff := cmp.Diff(want, *ran); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
			tt.want.Engine = tt.engine
			if diff := cmp.Diff(tt.want, w.backup.Status); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got := len(recorder.Events); got != tt.events {
				t.Errorf("%d events, want %d", got, tt.events)
			}
		})
	}
}

func checkpointed(at string) v1.BackupStatus {
	return v1.BackupStatus{Consistency: v1.ConsistencyApplication, Position: at}
}

func crashed(at string) v1.BackupStatus {
	return v1.BackupStatus{Consistency: v1.ConsistencyCrash, Position: at}
}

var errNoPod = errors.New("the pod is not there")

// answer describes how a command in the database ends, unless the member is away.
type answer struct {
	output string
	err    error
	away   bool
}

// answers responds to commands in the database. It returns where they were run.
func answers(t *testing.T, w *work, engine v1.Engine, with answer) *[]podexec.Container {
	t.Helper()
	ran := new([]podexec.Container)
	w.options.Member = func(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
		if with.away {
			return nil, errNoPod
		}
		return nil, nil
	}
	w.options.Exec = func(ctx context.Context, _ cluster.Cluster, target podexec.Container, command podexec.Command) (string, error) {
		if _, bounded := ctx.Deadline(); !bounded || !slices.Equal(command.Args, database.SnapshotCommand(engine)) {
			t.Errorf("%q is run, with a deadline: %t", command.Args, bounded)
		}
		*ran = append(*ran, target)
		return with.output, with.err
	}
	return ran
}

// checkpoints checks that a checkpoint comes before the request for a snapshot, also of a hub that takes over before
// there was one.
func (c *crashes) checkpoints(t *testing.T) {
	key := c.create(t)
	var written []int
	c.exec = func() string {
		written = append(written, len(c.snapshots(key)))
		return positionAfter(len(c.snapshots(key)))
	}
	for _, p := range []*backupenv.Process{c.NewProcess(t, backupenv.Crash{At: 2, Arrives: true}), c.NewProcess(t, backupenv.Crash{})} {
		p.Run(t, c.reconciler(p), key, func() bool { return c.complete(t, key) })
	}
	if diff := cmp.Diff([]int{0, 0}, written); diff != "" {
		t.Errorf("snapshots there were at each checkpoint (-want +got):\n%s", diff)
	}
	if s := c.Backup(t, key.Name).Status; s.Consistency != v1.ConsistencyApplication || s.Position != positionAfter(0) {
		t.Errorf("it is %s consistent, at %q", s.Consistency, s.Position)
	}
	for _, s := range c.snapshots(key) {
		if got := s.Tags[cloud.TagPosition]; got != positionAfter(0) {
			t.Errorf("the tag of the snapshot in %s is %q", s.Region, got)
		}
	}
}
