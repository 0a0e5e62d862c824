package database

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestVersions checks which major version a version begins with, and that the oldest ones of each engine are rendered.
func TestVersions(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{"13": 13, "13.4": 13, "10.0": 10, "19-bookworm": 19, "09.1": 9} {
		if got, err := majorVersion(version); err != nil || got != want {
			t.Errorf("%s: %d, %v", version, got, err)
		}
	}
	for _, version := range []string{"", "latest", "v13", ".4"} {
		if got, err := majorVersion(version); err == nil {
			t.Errorf("%q: %d", version, got)
		}
	}
	mustRender(t, testSpec(v1.EnginePostgreSQL, "10.0"))
	mustRender(t, testSpec(v1.EngineMySQL, "8.0"))
	if files, _ := settingsOf(t, testSpec(v1.EnginePostgreSQL, "13.0")); !strings.Contains(files["storage.conf"], "max_slot_wal_keep_size") {
		t.Errorf("PostgreSQL 13 gets %q", files["storage.conf"])
	}
}

// TestImages checks the images and ports of the engines.
func TestImages(t *testing.T) {
	t.Parallel()
	for engine, want := range map[v1.Engine]string{v1.EnginePostgreSQL: "postgres:13.4 5432", v1.EngineMySQL: "mysql:8.4 3306"} {
		spec := testSpec(engine, engines()[engine])
		if c := server(t, mustRender(t, spec)); fmt.Sprint(c.Image, " ", c.Ports[0].ContainerPort) != want {
			t.Errorf("%s: image %s, port %d", engine, c.Image, c.Ports[0].ContainerPort)
		}
		spec.Image = "ours/database:1"
		if c := server(t, mustRender(t, spec)); c.Image != spec.Image {
			t.Errorf("%s: image %s", engine, c.Image)
		}
		client, err := spec.Client()
		if err != nil || client.Image != spec.Image || len(client.Env) != 5 {
			t.Errorf("%s: a client has %+v, %v", engine, client, err)
		}
		spec.Version = "latest"
		if _, err := spec.Client(); err == nil {
			t.Errorf("%s: a client of no version", engine)
		}
	}
}

// TestNames checks the names of what others look for: the claims of replicas, the volumes and the Secrets.
func TestNames(t *testing.T) {
	t.Parallel()
	spec := testSpec(v1.EnginePostgreSQL, "13.4")
	if got := spec.ReplicaClaims(); len(got) > 0 {
		t.Errorf("a primary alone has replicas %v", got)
	}
	spec.Replicas = 3
	want := []ReplicaClaim{{"shop-database-1", "data-shop-database-1"}, {"shop-database-2", "data-shop-database-2"}}
	if diff := cmp.Diff(want, spec.ReplicaClaims()); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
	for claim, want := range map[string]bool{
		"data-shop-database-0": true, "data-shop-database-12": true, "data-shop-database-x": false, "data-shop-database--1": false,
		"data-shop-database-": false, "shop-database-backup": false, "0": false, "data-other-database-0": false,
	} {
		if spec.IsVolume(claim) != want {
			t.Errorf("%s is a volume: %t", claim, !want)
		}
	}
	for credentials, want := range map[string][]string{"": {"shop-database-credentials", "shop-database-system"}, "ours": {"shop-database-system"}} {
		spec.CredentialsSecret = credentials
		var rendered []string
		for _, secret := range objectsOf[*corev1.Secret](mustRender(t, spec)) {
			rendered = append(rendered, secret.Name)
		}
		if !slices.Equal(spec.Secrets(), want) || !slices.Equal(rendered, want) {
			t.Errorf("credentials %q: the data needs %v, and %v are rendered", credentials, spec.Secrets(), rendered)
		}
		if got := spec.Credentials(); credentials != "" && got != credentials || credentials == "" && got != want[0] {
			t.Errorf("credentials %q: %s", credentials, got)
		}
	}
}

// TestReplicas checks what follows from the number of replicas: a budget of disruptions, and a note about MySQL.
func TestReplicas(t *testing.T) {
	t.Parallel()
	for engine, version := range engines() {
		for _, replicas := range []int32{1, 2, 3} {
			spec := testSpec(engine, version)
			spec.Replicas = replicas
			c := mustRender(t, spec)
			if got := len(objectsOf[*policyv1.PodDisruptionBudget](c)); (got == 1) != (replicas > 1) {
				t.Errorf("%s, %d: %d budgets", engine, replicas, got)
			}
			if noted := c.Note != ""; noted != (engine == v1.EngineMySQL && replicas > 1) {
				t.Errorf("%s, %d: the note is %q", engine, replicas, c.Note)
			}
		}
	}
}

// TestPods checks the parts of a pod that depend on the spec and the engine.
func TestPods(t *testing.T) {
	t.Parallel()
	of := func(engine v1.Engine, change func(*Spec)) corev1.PodSpec {
		spec := testSpec(engine, engines()[engine])
		change(&spec)
		return statefulSetOf(t, mustRender(t, spec)).Spec.Template.Spec
	}
	amounts := func(memory string) v1.Amounts { return v1.Amounts{v1.ResourceMemory: resource.MustParse(memory)} }
	for name, tt := range map[string]struct {
		resources        v1.Resources
		requests, limits string
	}{
		"none":          {v1.Resources{}, "256Mi", "0"},
		"requests":      {v1.Resources{Requests: amounts("1Gi")}, "1Gi", "0"},
		"limits":        {v1.Resources{Limits: amounts("2Gi")}, "0", "2Gi"},
		"both of these": {v1.Resources{Requests: amounts("1Gi"), Limits: amounts("2Gi")}, "1Gi", "2Gi"},
	} {
		got := of(v1.EnginePostgreSQL, func(s *Spec) { s.Resources = tt.resources }).Containers[0].Resources
		if got.Requests.Memory().String() != tt.requests || got.Limits.Memory().String() != tt.limits {
			t.Errorf("resources %s: %v", name, got)
		}
	}
	affinity := &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}
	if pod := of(v1.EnginePostgreSQL, func(*Spec) {}); pod.Affinity != nil {
		t.Errorf("affinity %v", pod.Affinity)
	}
	if pod := of(v1.EnginePostgreSQL, func(s *Spec) { s.NodeAffinity = affinity }); pod.Affinity == nil || !cmp.Equal(pod.Affinity.NodeAffinity, affinity) {
		t.Errorf("affinity %v", pod.Affinity)
	}
	for engine, want := range map[v1.Engine]string{v1.EnginePostgreSQL: "shm 256Mi", v1.EngineMySQL: ""} {
		pod, inMemory := of(engine, func(*Spec) {}), ""
		for _, volume := range pod.Volumes {
			if volume.EmptyDir != nil && volume.EmptyDir.Medium == corev1.StorageMediumMemory {
				inMemory += volume.Name + " " + volume.EmptyDir.SizeLimit.String()
			}
		}
		if hook := pod.Containers[0].Lifecycle; inMemory != want || (hook != nil) != (engine == v1.EnginePostgreSQL) {
			t.Errorf("%s: volumes in memory %q, hook %v", engine, inMemory, hook)
		}
	}
}

// TestAccess checks who may connect to a database: its own pods, those that dump it, and a component that the spec names.
// Where it may connect to is bounded if the spec says so.
func TestAccess(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		client string
		egress v1.EgressPolicy
		peers  int
	}{"alone": {"", "", 2}, "with a client": {"backend", "", 3}, "restricted": {"backend", v1.EgressRestricted, 3}} {
		spec := testSpec(v1.EnginePostgreSQL, "13.4")
		spec.ClientComponent, spec.Egress = tt.client, tt.egress
		policy := objectsOf[*networkingv1.NetworkPolicy](mustRender(t, spec))[0].Spec
		if restricted := slices.Contains(policy.PolicyTypes, networkingv1.PolicyTypeEgress); len(policy.Ingress[0].From) != tt.peers || restricted != (tt.egress != "") {
			t.Errorf("%s: %d peers, restricted %t", name, len(policy.Ingress[0].From), restricted)
		}
	}
}

// TestHugePages checks that PostgreSQL uses huge pages if the limits of all sizes are enough for its buffers.
func TestHugePages(t *testing.T) {
	t.Parallel()
	const buffers = 512 // A quarter of the memory, in MiB: enough are 561.
	for name, tt := range map[string]struct {
		limits map[string]string
		want   string
	}{
		"none":      {nil, "off"},
		"enough":    {map[string]string{"hugepages-2Mi": "561Mi"}, "try"},
		"too few":   {map[string]string{"hugepages-2Mi": "560Mi"}, "off"},
		"two sizes": {map[string]string{"hugepages-2Mi": "280Mi", "hugepages-1Gi": "281Mi"}, "try"},
		"memory":    {map[string]string{"memory": "9Gi"}, "off"},
	} {
		spec := testSpec(v1.EnginePostgreSQL, "13.4")
		spec.Resources = v1.Resources{Requests: v1.Amounts{v1.ResourceMemory: resource.MustParse("2Gi")}, Limits: v1.Amounts{}}
		for resourceName, amount := range tt.limits {
			spec.Resources.Limits[v1.ResourceName(resourceName)] = resource.MustParse(amount)
		}
		config := postgreSQLConfig(spec, 13)
		if !strings.Contains(config, "huge_pages = "+tt.want+"\n") || !strings.Contains(config, fmt.Sprintf("shared_buffers = %dMB\n", buffers)) {
			t.Errorf("%s, want %s:\n%s", name, tt.want, config)
		}
	}
}

// TestTemporaryTables checks that MySQL keeps temporary tables in a sixteenth of a memory that is known.
func TestTemporaryTables(t *testing.T) {
	t.Parallel()
	for memory, want := range map[string]string{"": "", "64Mi": "16M", "2Gi": "128M"} {
		spec := testSpec(v1.EngineMySQL, "8.4")
		if memory != "" {
			spec.Resources.Requests = v1.Amounts{v1.ResourceMemory: resource.MustParse(memory)}
		}
		_, got, _ := strings.Cut(mySQLMemory(spec), "loose-temptable-max-ram=")
		if strings.TrimSpace(got) != want {
			t.Errorf("%s: %q, want %q", memory, got, want)
		}
	}
}

// TestTimesOfDumps checks the time zone of dumps, and how many are kept at least.
func TestTimesOfDumps(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{"": "Etc/UTC", "Europe/Berlin": "Europe/Berlin"} {
		spec := testSpec(v1.EngineMySQL, "8.4")
		spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *", TimeZone: zone}
		if got := *objectsOf[*batchv1.CronJob](mustRender(t, spec))[0].Spec.TimeZone; got != want {
			t.Errorf("%q: %s", zone, got)
		}
	}
	const message = "Dumps up to 20260102T030405Z were removed before their retention ended"
	for text, want := range map[string]string{message: "20260102T030405Z", "first\n" + message + "\n": "20260102T030405Z", message + "\nlast": "", "": ""} {
		if got := RemovedEarly(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestEngines checks what only PostgreSQL has: a command that observes replicas, and a second login that takes turns with the
// owner.
func TestEngines(t *testing.T) {
	t.Parallel()
	if ObservePrimaryCommand(v1.EngineMySQL) != nil || ObservePrimaryCommand(v1.EnginePostgreSQL) == nil {
		t.Error("MySQL has a command of PostgreSQL, or PostgreSQL has none")
	}
	for name, tt := range map[string]struct {
		engine v1.Engine
		login  Login
		want   string
	}{
		"the owner":         {v1.EnginePostgreSQL, Login{Owner: "shop", Username: "shop"}, "shop_2"},
		"the second":        {v1.EnginePostgreSQL, Login{Owner: "shop", Username: "shop_2"}, "shop"},
		"the user of MySQL": {v1.EngineMySQL, Login{Owner: "shop", Username: "shop"}, "shop"},
	} {
		if got := tt.login.Other(tt.engine); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
