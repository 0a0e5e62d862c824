package jobs

import (
	"encoding/json"
	"maps"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

func engines() map[v1.Engine]string {
	return map[v1.Engine]string{v1.EnginePostgreSQL: "15.4", v1.EngineMySQL: "8.4"}
}

func testJob() Job {
	return Job{
		Namespace: "production", Name: "shop-load-1",
		Labels:      map[string]string{v1.RestoreLabel: "monday", v1.ComponentLabel: "database"},
		Annotations: map[string]string{"a": "b"},
		Owners:      []metav1.OwnerReference{{Kind: "EcommerceApp", Name: "shop", UID: "u"}},
	}
}

func testLoad(engine v1.Engine) LoadSpec {
	return LoadSpec{
		Job: testJob(),
		Database: database.Spec{
			Owner:  objectparts.Owner{Kind: "ecommerceapp", Name: "shop", Namespace: "production", UID: "u"},
			Suffix: "-database", Field: "spec.database", Engine: engine, Version: engines()[engine],
			Replicas: 1, Storage: resource.MustParse("1Gi"), ClientComponent: "backend",
		},
		File: "backup-20260102T030405Z.dump", SHA256: strings.Repeat("a", 64), Bytes: 5, Claim: "dumps",
	}
}

func testOrder(t *testing.T, direction order.Direction) []byte {
	t.Helper()
	text, err := order.Order{
		Direction: direction, File: "backup-20260102T030405Z.dump", Bytes: 5, SHA256: strings.Repeat("a", 64),
		ExpiresAt: time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC),
		Parts: []order.Part{{Bytes: 5, Request: &order.Request{
			Method: map[order.Direction]string{order.Send: "PUT", order.Fetch: "GET"}[direction], URL: "https://bucket.example/part?token=secret",
		}}},
	}.Write()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestSend(t *testing.T) {
	t.Parallel()
	text := testOrder(t, order.Send)
	job, secret, err := Send(SendSpec{Job: testJob(), Image: "spoke:v1", Order: text, Claim: "dumps"})
	if err != nil {
		t.Fatal(err)
	}
	wantLabels := map[string]string{v1.RestoreLabel: "monday", v1.ComponentLabel: "dump-transfer", v1.ManagedByLabel: "shopfleet"}
	want := metav1.ObjectMeta{
		Namespace: "production", Name: "shop-load-1", Labels: wantLabels,
		Annotations: testJob().Annotations, OwnerReferences: testJob().Owners,
	}
	if diff := cmp.Diff(want, job.ObjectMeta); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&corev1.Secret{
		TypeMeta: objectparts.Type("v1", "Secret"), ObjectMeta: want, Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{"order.json": text},
	}, secret); diff != "" {
		t.Errorf("secret (-want +got):\n%s", diff)
	}
	c := job.Spec.Template.Spec.Containers[0]
	if diff := cmp.Diff([]string{"transfer", "--order=/order/order.json", "--dir=/backups"}, c.Args); diff != "" || c.Name != SendContainer || c.Command != nil {
		t.Errorf("container %s: %q, %s", c.Name, c.Command, diff)
	}
	if diff := cmp.Diff([]corev1.VolumeMount{
		{Name: "backups", MountPath: "/backups", ReadOnly: true}, {Name: "order", MountPath: "/order", ReadOnly: true},
	}, c.VolumeMounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if got := *job.Spec.ActiveDeadlineSeconds; got < 3600 {
		t.Errorf("it may take %d seconds, less than an order lives", got)
	}
	checkJob(t, job)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	for engine := range engines() {
		job, secret, err := Load(testLoad(engine))
		if err != nil {
			t.Fatal(err)
		}
		if secret != nil || len(job.Spec.Template.Spec.InitContainers) != 0 {
			t.Error("without a fetch there is a part of one")
		}
		checkJob(t, job)
	}
}

// TestRunsWhereTheDatabaseMay checks that Jobs can pull images with the pull secrets of the
// database, and run on its nodes.
func TestRunsWhereTheDatabaseMay(t *testing.T) {
	pods := v1.PodSettings{
		ImagePullSecrets: []v1.LocalSecretReference{{Name: "registry"}},
		Tolerations:      []v1.Toleration{{Operator: v1.TolerationExists}},
		PodLabels:        map[string]string{"team": "data", v1.ComponentLabel: "others"},
		PodAnnotations:   map[string]string{"inject": "false"},
	}
	loading := testLoad(v1.EnginePostgreSQL)
	loading.Database.Pods, loading.Database.UserIDs = pods, v1.PodUserIDsNamespace
	sending := testJob()
	sending.UserIDs = v1.PodUserIDsNamespace
	load, _, err := Load(loading)
	if err != nil {
		t.Fatal(err)
	}
	send, _, err := Send(SendSpec{
		Job: sending, Image: "spoke:v1", Order: testOrder(t, order.Send), Claim: "dumps", Pods: pods,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range []*batchv1.Job{load, send} {
		if pod := job.Spec.Template.Spec; len(pod.ImagePullSecrets) != 1 || len(pod.Tolerations) != 1 {
			t.Errorf("%s: pull secrets %v, tolerations %v", job.Name, pod.ImagePullSecrets, pod.Tolerations)
		}
		template := job.Spec.Template
		if template.Labels["team"] != "data" || template.Annotations["inject"] != "false" || template.Labels[v1.ComponentLabel] == "others" {
			t.Errorf("%s: labels %v and annotations %v of the pod", job.Name, template.Labels, template.Annotations)
		}
		if diff := cmp.Diff(objectparts.PodSecurity(0, v1.PodUserIDsNamespace), template.Spec.SecurityContext); diff != "" {
			t.Errorf("%s: security context (-want +got):\n%s", job.Name, diff)
		}
	}
}

// TestLoadFetched checks that one of two containers sees the order, and one writes to the claim.
func TestLoadFetched(t *testing.T) {
	t.Parallel()
	for engine := range engines() {
		l := testLoad(engine)
		l.Fetch = &Fetch{Image: "spoke:v1", Order: testOrder(t, order.Fetch)}
		job, secret, err := Load(l)
		if err != nil {
			t.Fatal(err)
		}
		checkJob(t, job)
		fetch, load := job.Spec.Template.Spec.InitContainers[0], job.Spec.Template.Spec.Containers[0]
		if secret == nil || secret.Name != l.Name || fetch.Name != FetchContainer || fetch.Image != "spoke:v1" {
			t.Errorf("%s: the fetch is %+v, and its secret %v", engine, fetch, secret)
		}
		if diff := cmp.Diff([]corev1.VolumeMount{
			{Name: "backups", MountPath: "/backups"}, {Name: "order", MountPath: "/order", ReadOnly: true},
		}, fetch.VolumeMounts); diff != "" {
			t.Errorf("mounts of the fetch (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]corev1.VolumeMount{
			{Name: "backups", MountPath: "/backups", ReadOnly: true}, {Name: "tmp", MountPath: "/tmp"},
		}, load.VolumeMounts); diff != "" || load.Name != LoadContainer {
			t.Errorf("mounts of %s (-want +got):\n%s", load.Name, diff)
		}
	}
}

// TestLoadEnvironment checks that the client gets the dump to load, and passwords from a Secret.
func TestLoadEnvironment(t *testing.T) {
	t.Parallel()
	for engine := range engines() {
		l := testLoad(engine)
		l.Overwrite = true
		job, _, err := Load(l)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range job.Spec.Template.Spec.Containers[0].Env {
			got[e.Name] = e.Value
			if e.ValueFrom != nil {
				got[e.Name] = e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
			}
		}
		want := map[string]string{"DUMP": "/backups/" + l.File, "DUMP_SHA256": l.SHA256, "DUMP_BYTES": "5", "OVERWRITE": "true"}
		maps.Copy(want, map[v1.Engine]map[string]string{
			v1.EnginePostgreSQL: {
				"PGHOST": "shop-database-primary", "PGPORT": "5432", "PGUSER": "shop-database-credentials/username",
				"PGPASSWORD": "shop-database-credentials/password", "PGDATABASE": "shop-database-credentials/database",
			},
			v1.EngineMySQL: {
				"DB_HOST": "shop-database-primary", "DB_PORT": "3306", "DB_USER": "shop-database-credentials/username",
				"MYSQL_PWD": "shop-database-credentials/password", "DB_NAME": "shop-database-credentials/database",
			},
		}[engine])
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", engine, diff)
		}
	}
}

// checkJob looks at what all Jobs have in common.
func checkJob(t *testing.T, job *batchv1.Job) {
	t.Helper()
	pod := job.Spec.Template.Spec
	if *job.Spec.PodReplacementPolicy != batchv1.Failed || pod.RestartPolicy != corev1.RestartPolicyNever || *job.Spec.TTLSecondsAfterFinished != 3600 || *pod.AutomountServiceAccountToken {
		t.Errorf("pods that may run side by side: %+v", job.Spec)
	}
	if diff := cmp.Diff(objectparts.PodSecurity(999, v1.PodUserIDsFixed), pod.SecurityContext); diff != "" {
		t.Errorf("security of the pod (-want +got):\n%s", diff)
	}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		if diff := cmp.Diff(objectparts.ContainerSecurity(), c.SecurityContext); diff != "" {
			t.Errorf("security of %s (-want +got):\n%s", c.Name, diff)
		}
		if c.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError || c.Resources.Requests.Memory().IsZero() {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
	if diff := cmp.Diff(job.Labels, job.Spec.Template.Labels); diff != "" {
		t.Errorf("labels of the pod (-want +got):\n%s", diff)
	}
	encoded, err := json.Marshal(job)
	if err != nil || strings.Contains(string(encoded), "secret=") || strings.Contains(string(encoded), "bucket.example") {
		t.Errorf("the Job holds the order: %s, %v", encoded, err)
	}
}

// TestNetworkAccess checks that the database accepts connections from the pods of Load, and that no Job accepts
// connections.
func TestNetworkAccess(t *testing.T) {
	t.Parallel()
	for engine := range engines() {
		load, _, err := Load(testLoad(engine))
		if err != nil {
			t.Fatal(err)
		}
		send, _, err := Send(SendSpec{Job: testJob(), Image: "spoke:v1", Order: testOrder(t, order.Send), Claim: "dumps"})
		if err != nil {
			t.Fatal(err)
		}
		services, policy := guards(t, testLoad(engine).Database)
		for _, service := range services {
			if selects(service.Spec.Selector, load) || selects(service.Spec.Selector, send) {
				t.Errorf("Service %s selects the pods of a Job", service.Name)
			}
		}
		admits := map[string]bool{}
		for _, peer := range policy.Spec.Ingress[0].From {
			admits["load"] = admits["load"] || selects(peer.PodSelector.MatchLabels, load)
			admits["send"] = admits["send"] || selects(peer.PodSelector.MatchLabels, send)
		}
		if diff := cmp.Diff(map[string]bool{"load": true, "send": false}, admits); diff != "" {
			t.Errorf("who is let in (-want +got):\n%s", diff)
		}
	}
}

// guards returns what leads to the pods of a database, and who may go there.
func guards(t *testing.T, spec database.Spec) (services []*corev1.Service, policy *networkingv1.NetworkPolicy) {
	t.Helper()
	c, err := database.Render(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range c.Objects {
		switch o := o.Resource.(type) {
		case *corev1.Service:
			services = append(services, o)
		case *networkingv1.NetworkPolicy:
			policy = o
		}
	}
	if len(services) == 0 || policy == nil {
		t.Fatal("nothing leads to the database")
	}
	return services, policy
}

func selects(selector map[string]string, job *batchv1.Job) bool {
	return labels.SelectorFromSet(selector).Matches(labels.Set(job.Spec.Template.Labels))
}

// TestCallersLabels checks that the arguments of the caller are not changed.
func TestCallersLabels(t *testing.T) {
	t.Parallel()
	l := testLoad(v1.EngineMySQL)
	before := maps.Clone(l.Labels)
	job, _, err := Load(l)
	if err != nil {
		t.Fatal(err)
	}
	job.Labels["x"], job.Spec.Template.Labels["y"] = "1", "2"
	if diff := cmp.Diff(before, l.Labels); diff != "" || job.Labels["y"] != "" {
		t.Errorf("labels are shared: %v, %s", job.Labels, diff)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{1: "65Mi", 1 << 30: "1191Mi", 10 << 20: "75Mi"} {
		got := Claim(ClaimSpec{Job: testJob(), Bytes: bytes, StorageClass: new("fast")})
		if size := got.Spec.Resources.Requests[corev1.ResourceStorage]; size.Cmp(resource.MustParse(want)) != 0 {
			t.Errorf("%d bytes: %s, want %s", bytes, size.String(), want)
		}
		if *got.Spec.StorageClassName != "fast" || got.Name != "shop-load-1" || got.Labels[v1.RestoreLabel] != "monday" || len(got.OwnerReferences) != 1 {
			t.Errorf("claim %+v", got)
		}
	}
	if got := Claim(ClaimSpec{Job: testJob(), Bytes: 1}); got.Spec.StorageClassName != nil {
		t.Errorf("the class is %q", *got.Spec.StorageClassName)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*LoadSpec){
		"no namespace":        func(l *LoadSpec) { l.Namespace = "" },
		"no name":             func(l *LoadSpec) { l.Name = "" },
		"long name":           func(l *LoadSpec) { l.Name = strings.Repeat("a", 64) },
		"no claim":            func(l *LoadSpec) { l.Claim = "" },
		"no file":             func(l *LoadSpec) { l.File = "" },
		"a folder":            func(l *LoadSpec) { l.File = "../a" },
		"no checksum":         func(l *LoadSpec) { l.SHA256 = "" },
		"a checksum in SQL":   func(l *LoadSpec) { l.SHA256 = strings.Repeat("'", 64) },
		"nothing":             func(l *LoadSpec) { l.Bytes = 0 },
		"engine":              func(l *LoadSpec) { l.Database.Engine = "oracle" },
		"fetch, no image":     func(l *LoadSpec) { l.Fetch = &Fetch{Order: testOrder(t, order.Fetch)} },
		"fetch, no order":     func(l *LoadSpec) { l.Fetch = &Fetch{Image: "spoke:v1"} },
		"fetch, order to sen": func(l *LoadSpec) { l.Fetch = &Fetch{Image: "spoke:v1", Order: testOrder(t, order.Send)} },
	} {
		l := testLoad(v1.EnginePostgreSQL)
		change(&l)
		if _, _, err := Load(l); err == nil || strings.Contains(err.Error(), "token") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, s := range map[string]SendSpec{
		"no image":       {Job: testJob(), Order: testOrder(t, order.Send), Claim: "dumps"},
		"order to fetch": {Job: testJob(), Image: "spoke:v1", Order: testOrder(t, order.Fetch), Claim: "dumps"},
		"no claim":       {Job: testJob(), Image: "spoke:v1", Order: testOrder(t, order.Send)},
	} {
		if _, _, err := Send(s); err == nil || strings.Contains(err.Error(), "token") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestScriptsAreShell(t *testing.T) {
	t.Parallel()
	for engine := range engines() {
		cmd := exec.CommandContext(t.Context(), "sh", "-n")
		cmd.Stdin = strings.NewReader(script(engine) + importScript(engine))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", engine, err, out)
		}
	}
}
