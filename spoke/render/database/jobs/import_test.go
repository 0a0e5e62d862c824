package jobs

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

func testImport(engine v1.Engine) ImportSpec {
	return ImportSpec{Job: testJob(), Database: testLoad(engine).Database, Claim: "shop-import", HasCredentials: true}
}

func mustImport(t *testing.T, i ImportSpec) *batchv1.Job {
	t.Helper()
	job, err := Import(i)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// configured returns settings of a database that decide where its pods run.
func configured(s database.Spec) database.Spec {
	s.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"amd64"}},
		}}},
	}}
	s.Resources = v1.Resources{Requests: v1.Amounts{v1.ResourceMemory: resource.MustParse("2Gi")}}
	s.UserIDs = v1.PodUserIDsNamespace
	s.Pods = v1.PodSettings{
		NodeSelector:      map[string]string{"disk": "fast"},
		Tolerations:       []v1.Toleration{{Operator: v1.TolerationExists}},
		PriorityClassName: "high",
		ImagePullSecrets:  []v1.LocalSecretReference{{Name: "registry"}},
		PodLabels:         map[string]string{"team": "data", v1.ComponentLabel: database.Component},
		PodAnnotations:    map[string]string{"inject": "false"},
		Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: &v1.PodSelector{MatchLabels: map[string]string{"a": "b"}}}},
		}},
	}
	return s
}

// TestImportRunsWhereTheDatabaseMay compares the pod with that of the database: whatever decides where that runs, and
// as whom, is the same.
func TestImportRunsWhereTheDatabaseMay(t *testing.T) {
	t.Parallel()
	for engine := range engines() {
		i := testImport(engine)
		i.Database = configured(i.Database)
		i.UserIDs = v1.PodUserIDsFixed // That of the database counts.
		got := mustImport(t, i).Spec.Template
		want := statefulSet(t, i.Database).Spec.Template.Spec
		server := want.Containers[0]
		container := got.Spec.Containers[0]
		if container.Image != server.Image || !cmp.Equal(container.Resources, server.Resources) || !cmp.Equal(container.SecurityContext, server.SecurityContext) {
			t.Errorf("%s: the container is %+v, and the database's %+v", engine, container, server)
		}
		if container.Name != ImportContainer || container.Ports != nil || container.StartupProbe != nil || container.LivenessProbe != nil ||
			container.ReadinessProbe != nil || container.Lifecycle != nil || container.TerminationMessagePolicy != corev1.TerminationMessageFallbackToLogsOnError {
			t.Errorf("%s: the container is %+v", engine, container)
		}
		// What a cluster does not have that has never had the application.
		want.ServiceAccountName, want.InitContainers, want.TopologySpreadConstraints = "", nil, nil
		want.RestartPolicy = corev1.RestartPolicyNever
		want.Containers = []corev1.Container{container}
		want.Volumes = slices.DeleteFunc(want.Volumes, func(v corev1.Volume) bool { return v.ConfigMap != nil })
		want.Volumes = append(want.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: i.Claim},
		}})
		if diff := cmp.Diff(want, got.Spec); diff != "" {
			t.Errorf("%s: pod (-want +got):\n%s", engine, diff)
		}
		mounts := slices.DeleteFunc(server.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "config" })
		if diff := cmp.Diff(mounts, container.VolumeMounts); diff != "" {
			t.Errorf("%s: mounts (-want +got):\n%s", engine, diff)
		}
		if got.Labels["team"] != "data" || got.Annotations["inject"] != "false" || got.Labels[v1.RestoreLabel] != "monday" {
			t.Errorf("%s: labels %v and annotations %v of the pod", engine, got.Labels, got.Annotations)
		}
	}
}

func statefulSet(t *testing.T, spec database.Spec) *appsv1.StatefulSet {
	t.Helper()
	c, err := database.Render(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range c.Objects {
		if set, ok := o.Resource.(*appsv1.StatefulSet); ok {
			return set
		}
	}
	t.Fatal("there is no StatefulSet")
	return nil
}

// TestImportIsNoPodOfTheDatabase checks that neither clients nor controllers take the pod for one of the database.
func TestImportIsNoPodOfTheDatabase(t *testing.T) {
	t.Parallel()
	for engine := range engines() {
		i := testImport(engine)
		i.Labels = i.Database.PodSelector() // Even then.
		job := mustImport(t, i)
		services, policy := guards(t, i.Database)
		for _, service := range services {
			if selects(service.Spec.Selector, job) {
				t.Errorf("Service %s selects the pod", service.Name)
			}
		}
		if selects(policy.Spec.PodSelector.MatchLabels, job) || selects(statefulSet(t, i.Database).Spec.Selector.MatchLabels, job) {
			t.Errorf("the network policy or the StatefulSet selects the pod with labels %v", job.Spec.Template.Labels)
		}
		for _, peer := range policy.Spec.Ingress[0].From {
			if selects(peer.PodSelector.MatchLabels, job) {
				t.Errorf("the network policy admits the pod by %v", peer.PodSelector.MatchLabels)
			}
		}
	}
}

// TestImportAttempts checks what counts as an attempt, and what ends the Job.
func TestImportAttempts(t *testing.T) {
	t.Parallel()
	spec := mustImport(t, testImport(v1.EnginePostgreSQL)).Spec
	if *spec.BackoffLimit != 3 || *spec.ActiveDeadlineSeconds >= 6*60*60 || *spec.TTLSecondsAfterFinished != keptSeconds || *spec.PodReplacementPolicy != batchv1.Failed {
		t.Errorf("the Job is %+v", spec)
	}
	if diff := cmp.Diff([]batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: "DisruptionTarget", Status: "True"}}},
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: new("import"), Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{20, 21, 22, 23, 24, 25},
		}},
	}, spec.PodFailurePolicy.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// TestImportLogin checks from where the pod knows which user the data must have. No Secret is required.
func TestImportLogin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*ImportSpec)
		want   map[string]string
	}{
		"generated, and there":     {func(*ImportSpec) {}, map[string]string{"APP_USER": "shop-database-credentials/username?", "APP_DATABASE": "shop-database-credentials/database?"}},
		"of the user, and there":   {func(i *ImportSpec) { i.Database.CredentialsSecret = "ours" }, map[string]string{"APP_USER": "ours/username?", "APP_DATABASE": "ours/database?"}},
		"rotated":                  {func(i *ImportSpec) { i.Database.Rotated = true }, map[string]string{"APP_USER": "shop-database-credentials/username?", "APP_DATABASE": "shop-database-credentials/database?"}},
		"generated later":          {func(i *ImportSpec) { i.HasCredentials = false }, map[string]string{"APP_USER": "shop", "APP_DATABASE": "shop_db"}},
		"of the user, not yet now": {func(i *ImportSpec) { i.HasCredentials, i.Database.CredentialsSecret = false, "ours" }, map[string]string{}},
	} {
		i := testImport(v1.EnginePostgreSQL)
		i.Database.Username, i.Database.DatabaseName = "shop", "shop_db"
		tt.change(&i)
		got := map[string]string{}
		for _, e := range mustImport(t, i).Spec.Template.Spec.Containers[0].Env {
			switch {
			case e.Name == "PGDATA":
			case e.ValueFrom == nil:
				got[e.Name] = e.Value
			case *e.ValueFrom.SecretKeyRef.Optional:
				got[e.Name] = e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key + "?"
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestImportZone checks that a zone is added to the nodes of the database.
func TestImportZone(t *testing.T) {
	t.Parallel()
	const zone = "eu-1a"
	for name, tt := range map[string]struct {
		zone  string
		nodes map[string]string
		want  map[string]string
		fails bool
	}{
		"any":          {"", map[string]string{"a": "b"}, map[string]string{"a": "b"}, false},
		"one":          {zone, nil, map[string]string{corev1.LabelTopologyZone: zone}, false},
		"one of nodes": {zone, map[string]string{"a": "b"}, map[string]string{"a": "b", corev1.LabelTopologyZone: zone}, false},
		"the same":     {zone, map[string]string{corev1.LabelTopologyZone: zone}, map[string]string{corev1.LabelTopologyZone: zone}, false},
		"another":      {zone, map[string]string{corev1.LabelTopologyZone: "eu-1b"}, nil, true},
	} {
		i := testImport(v1.EnginePostgreSQL)
		i.Zone, i.Database.Pods.NodeSelector = tt.zone, tt.nodes
		job, err := Import(i)
		if (err != nil) != tt.fails {
			t.Errorf("%s: error %v", name, err)
		}
		if err == nil && !cmp.Equal(tt.want, job.Spec.Template.Spec.NodeSelector) {
			t.Errorf("%s: nodes %v, want %v", name, job.Spec.Template.Spec.NodeSelector, tt.want)
		}
		if len(tt.nodes) > 1 {
			t.Errorf("%s: the spec was changed to %v", name, tt.nodes)
		}
	}
}

func TestImportInvalid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ImportSpec){
		"no name":  func(i *ImportSpec) { i.Name = "" },
		"no claim": func(i *ImportSpec) { i.Claim = "" },
		"engine":   func(i *ImportSpec) { i.Database.Engine = "oracle" },
		"version":  func(i *ImportSpec) { i.Database.Version = "latest" },
	} {
		i := testImport(v1.EnginePostgreSQL)
		change(&i)
		if _, err := Import(i); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
