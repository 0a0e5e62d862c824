package cloud_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/transfer"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	// playPeriod is how often a kubelet looks for pods of Jobs.
	playPeriod = 200 * time.Millisecond
	// booksHost is the host of the books' database, as a kubelet knows it.
	booksHost = books + "-database-primary." + namespace
	// dumpContainer is the container of the CronJobs.
	dumpContainer = "backup"
)

// ending is how a container ends.
type ending struct {
	code    int32
	message string
}

// kubelet does in a member what the containers of Jobs would do: it dumps to files, moves
// them with the spoke's own code, and loads them into databases that are a checksum.
type kubelet struct {
	client client.Client
	// disk has a folder for each claim.
	disk string

	mu sync.Mutex
	// ended are the pods whose containers have ended, and how: what they did is done once.
	ended map[types.UID]corev1.PodStatus
	// told are those whose status says so.
	told map[types.UID]bool
	// databases holds the checksum of the dump that a database was loaded from, by host.
	// A database without an entry was never loaded and holds its customers' data.
	databases map[string]string
	// held are containers that run until they are released, by name.
	held map[string]bool
	// wrong are the endings, one after the other, of containers of a name that go wrong.
	wrong map[string][]ending
}

// playJobs lets a kubelet work in a cluster until the test ends.
func playJobs(t *testing.T, c *fleet.Cluster) *kubelet {
	t.Helper()
	k := &kubelet{
		client: framework.Admin(t, c), disk: t.TempDir(), ended: map[types.UID]corev1.PodStatus{}, told: map[types.UID]bool{},

		databases: map[string]string{}, wrong: map[string][]ending{}, held: map[string]bool{},
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var group sync.WaitGroup
	group.Go(func() { k.run(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return k
}

// failWith makes the next containers of a name end like this.
func (k *kubelet) failWith(container string, with ...ending) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wrong[container] = append(k.wrong[container], with...)
}

// hold lets containers of a name run on, or end.
func (k *kubelet) hold(container string, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[container] = is
}

// runsOn reports whether a container of a pod is held.
func (k *kubelet) runsOn(pod *corev1.Pod) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return k.held[c.Name] })
}

// loaded returns the checksum of the dump that the database of books was loaded from.
func (k *kubelet) loaded() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.databases[booksHost]
}

// file returns the file of a claim in the shops' namespace.
func (k *kubelet) file(claim, name string) string {
	return filepath.Join(k.disk, namespace+"."+claim, name)
}

func (k *kubelet) run(ctx context.Context) {
	ticker := time.NewTicker(playPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		pods := &corev1.PodList{}
		if err := k.client.List(ctx, pods, client.MatchingFields{"status.phase": string(corev1.PodRunning)}); err != nil {
			continue // It is asked again at once.
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			owner := metav1.GetControllerOf(pod)
			if owner == nil || owner.Kind != "Job" || pod.DeletionTimestamp != nil || k.told[pod.UID] || k.runsOn(pod) {
				continue
			}
			if k.end(ctx, pod) == nil {
				k.told[pod.UID] = true
			}
		}
	}
}

// end runs the containers of a pod, and writes down how they ended.
func (k *kubelet) end(ctx context.Context, pod *corev1.Pod) error {
	before := pod.DeepCopy()
	if _, done := k.ended[pod.UID]; !done {
		k.ended[pod.UID] = k.playAll(ctx, pod)
	}
	pod.Status = k.ended[pod.UID]
	if err := k.client.Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("ending pod %q: %w", pod.Name, err)
	}
	return nil
}

// playAll does what the containers of a pod do, and returns how it has ended.
func (k *kubelet) playAll(ctx context.Context, pod *corev1.Pod) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.Phase = corev1.PodSucceeded
	status.InitContainerStatuses, status.ContainerStatuses = nil, nil
	for _, c := range pod.Spec.InitContainers {
		e := k.play(ctx, pod, c)
		status.InitContainerStatuses = append(status.InitContainerStatuses, e.status(c.Name))
		if e.code != 0 {
			status.Phase = corev1.PodFailed
		}
	}
	for _, c := range pod.Spec.Containers {
		if status.Phase == corev1.PodFailed {
			break
		}
		e := k.play(ctx, pod, c)
		status.ContainerStatuses = append(status.ContainerStatuses, e.status(c.Name))
		if e.code != 0 {
			status.Phase = corev1.PodFailed
		}
	}
	return status
}

func (e ending) status(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: e.code, Message: e.message, FinishedAt: metav1.Now(),
	}}}
}

// play does what a container does.
func (k *kubelet) play(ctx context.Context, pod *corev1.Pod, c corev1.Container) ending {
	k.mu.Lock()
	defer k.mu.Unlock()
	if next := k.wrong[c.Name]; len(next) > 0 {
		k.wrong[c.Name] = next[1:]
		return next[0]
	}
	folder, err := k.folder(pod)
	if err != nil {
		return ending{1, err.Error()}
	}
	switch c.Name {
	case dumpContainer:
		return k.dump(pod, c, folder)
	case jobs.SendContainer, jobs.FetchContainer:
		return k.move(ctx, pod, folder)
	case jobs.LoadContainer:
		return k.load(pod, c, folder)
	case jobs.ImportContainer:
		return prove(c)
	default:
		return ending{}
	}
}

// folder makes the folder of the claim that a pod has.
func (k *kubelet) folder(pod *corev1.Pod) (string, error) {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			folder := filepath.Join(k.disk, pod.Namespace+"."+v.PersistentVolumeClaim.ClaimName)
			return folder, os.MkdirAll(folder, 0o700)
		}
	}
	return "", errors.New("the pod has no claim")
}

// dump writes a file and its manifest, as the script does.
func (k *kubelet) dump(pod *corev1.Pod, c corev1.Container, folder string) ending {
	begin := time.Now().UTC().Truncate(time.Second)
	name := "backup-" + begin.Format("20060102T150405Z") + ".dump"
	content := bytes.Repeat([]byte("what "+valueOf(c, "PGHOST")+" had when "+pod.Name+" asked\n"), 1000)
	if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
		return ending{1, err.Error()}
	}
	return ending{0, fmt.Sprintf(`{"file":%q,"bytes":%d,"sha256":%q,"engine":"postgresql","version":%q,"snapshotTime":%q,"completionTime":%q}`+"\n",
		name, len(content), sum(content), valueOf(c, "DB_VERSION"), begin.Format(time.RFC3339), time.Now().UTC().Format(time.RFC3339))}
}

// move carries out the order in the Secret of a pod.
func (k *kubelet) move(ctx context.Context, pod *corev1.Pod, folder string) ending {
	for _, v := range pod.Spec.Volumes {
		if v.Secret == nil {
			continue
		}
		secret := &corev1.Secret{}
		if err := k.client.Get(ctx, client.ObjectKey{Namespace: pod.Namespace, Name: v.Secret.SecretName}, secret); err != nil {
			return ending{1, err.Error()}
		}
		o, err := order.Read(secret.Data[order.FileName])
		if err == nil {
			err = transfer.Run(ctx, transfer.Options{Order: o, Dir: folder})
		}
		if err != nil {
			return ending{int32(transfer.Status(err)), err.Error()}
		}
		return ending{}
	}
	return ending{3, "the pod has no Secret"}
}

// load loads a dump into a database. The database is empty only if it was neither loaded nor
// used: here that is one of an application without customers yet.
func (k *kubelet) load(pod *corev1.Pod, c corev1.Container, folder string) ending {
	content, err := os.ReadFile(filepath.Join(folder, filepath.Base(valueOf(c, "DUMP"))))
	host := cmp.Or(valueOf(c, "PGHOST"), pod.Name) + "." + pod.Namespace // A verification has a database in its pod.
	switch {
	case err != nil:
		return ending{jobs.ExitMissing, "the dump is not there"}
	case sum(content) != valueOf(c, "DUMP_SHA256"):
		return ending{jobs.ExitChecksum, "the dump is not what was asked for"}
	case k.databases[host] != "" && valueOf(c, "OVERWRITE") != "true":
		return ending{jobs.ExitNotEmpty, "the database is not empty: it has 3 tables"}
	}
	k.databases[host] = sum(content)
	return ending{}
}

// prove says what all data was read by, if that is asked for.
func prove(c corev1.Container) ending {
	if valueOf(c, "PROVE") == "" {
		return ending{}
	}
	return ending{0, "pg_dump"}
}

// valueOf returns the value of a variable.
func valueOf(c corev1.Container, name string) string {
	for _, v := range c.Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}

func sum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}
