package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// numbered returns a text that differs for each number, of constant length up to 1000.
func numbered(text string, i int) string {
	if i == 0 {
		return text
	}
	return fmt.Sprintf("%s%03d", text[:max(1, min(len(text), 60))], i)
}

// limits are a lower and an upper bound.
type limits struct{ Min, Max int64 }

// text is a string field: its bounds, and a function that returns a value of a given
// length.
type text struct {
	limits
	make func(n int) string
	with edits
}

func letters(n int) string { return strings.Repeat("a", n) }

func startingWith(start string) func(int) string {
	return func(n int) string { return start + strings.Repeat("0", n-len(start)) }
}

// workloads returns the bounds of frontend and backend, which are the same.
func workloads[T any](bounds map[string]T) map[string]T {
	all := map[string]T{}
	for path, b := range bounds {
		all["spec.frontend."+path], all["spec.backend."+path] = b, b
	}
	return all
}

func merge[T any](all ...map[string]T) map[string]T {
	merged := map[string]T{}
	for _, m := range all {
		maps.Copy(merged, m)
	}
	return merged
}

// pods returns the bounds of frontend, backend and database, which are the same.
func pods[T any](bounds map[string]T) map[string]T {
	all := workloads(bounds)
	for path, b := range bounds {
		all["spec.database."+path] = b
	}
	return all
}

func numbers() map[string]map[string]limits {
	return map[string]map[string]limits{
		"EcommerceApp": merge(map[string]limits{
			"spec.replicas":                           {0, 1000},
			"spec.database.replicas":                  {1, 9},
			"spec.database.backup.retention.keepLast": {1, 1000},
			"spec.database.backup.retention.keepDays": {1, 3650},
			"spec.database.backup.deleteLockDays":     {0, 365},
			"spec.placement.maxClusters":              {0, 500},
			"spec.rollout.maxConcurrentClusters":      {1, 500},
			ebsBlock + ".iops":                        {100, 256000},
			ebsBlock + ".throughput":                  {125, 2000},
			gcpBlock + ".iops":                        {128, 350000},
			gcpBlock + ".throughput":                  {20, 2400},
			azureBlock + ".iops":                      {100, 400000},
			azureBlock + ".throughput":                {1, 10000},
		}, workloads(map[string]limits{
			"replicas":                {0, 1000},
			"port":                    {1, 65535},
			"autoscaling.minReplicas": {1, 1000},
			"autoscaling.maxReplicas": {1, 1000},
			"autoscaling.targetCPUUtilizationPercent": {1, 100},
		})),
		"MemberCluster": {
			"spec.health.probePeriodSeconds": {1, 60},
			"spec.health.failureThreshold":   {1, 20},
			"spec.health.successThreshold":   {1, 20},
		},
		"CloudAccount": {},
		"Backup":       {},
		"Restore":      {},
		"Plan":         {},
		"WebApp": {
			"spec.replicas": {0, 1000},
			"spec.port":     {1, 65535},
		},
		"MySQLCluster": {
			"spec.replicas":                            {1, 9},
			"spec.backup.retention":                    {1, 3650},
			"spec.cloudConfig.aws.rds.backupRetention": {1, 3650},
			"spec.cloudConfig.aws.ebs.iops":            {100, 256000},
		},
	}
}

// podTexts returns the texts of the pods' settings, of the registry and of the login.
func podTexts() map[string]text {
	name, path := text{limits: limits{1, 253}, make: letters}, text{limits: limits{1, 512}, make: startingWith("/")}
	return merge(map[string]text{
		"spec.imageRegistry":                           name,
		"spec.security.authentication.image":           {limits: limits{1, 512}, make: letters},
		"spec.security.authentication.emailDomains[]":  name,
		"spec.security.authentication.allowedGroups[]": {limits: limits{1, 256}, make: letters},
		"spec.security.authentication.trustedProxies[]": {limits: limits{1, 43}, make: func(length int) string {
			return strings.Repeat("2001:", 7) + strings.Repeat("1", length-39) + "/128"
		}},
	}, workloads(map[string]text{"probes.readinessPath": path, "probes.livenessPath": path}),
		pods(map[string]text{"priorityClassName": name, "imagePullSecrets[].name": name}))
}

// versionTexts returns the texts about the version of a database in a spec.
func versionTexts(path string, shortest int64) map[string]text {
	return map[string]text{
		path + "version":        {limits: limits{shortest, 64}, make: startingWith("8.0.33"[:min(shortest, 4)])},
		path + "allowUpgradeTo": {limits: limits{0, 29}, make: startingWith("999999999.999999999.")},
	}
}

func ingressTexts() map[string]text {
	name := text{limits: limits{1, 253}, make: letters}
	return map[string]text{
		"spec.ingress.host":                   {limits: limits{0, 253}, make: letters},
		"spec.ingress.className":              name,
		"spec.ingress.gatewayRef.name":        name,
		"spec.ingress.gatewayRef.namespace":   {limits: limits{1, 63}, make: letters, with: gateway()},
		"spec.ingress.gatewayRef.sectionName": {limits: name.limits, make: letters, with: gateway()},
	}
}

func texts() map[string]map[string]text {
	name, short := text{limits: limits{1, 253}, make: letters}, text{limits: limits{1, 63}, make: letters}
	image := text{limits: limits{1, 512}, make: letters}
	host := edits{"spec.ingress.host": "shop.example.com"}
	return map[string]map[string]text{
		"EcommerceApp": merge(map[string]text{
			"spec.image":                                  image,
			"spec.database.image":                         image,
			"spec.database.storage":                       {limits: limits{0, 16}, make: sized},
			"spec.database.storageClassName":              name,
			"spec.database.credentialsSecretRef.name":     name,
			"spec.database.backup.schedule":               {limits: limits{0, 128}, make: schedule},
			"spec.database.backup.timeZone":               {limits: limits{0, 64}, make: letters},
			"spec.database.backup.verify.schedule":        {limits: limits{0, 128}, make: schedule},
			"spec.database.backup.maxRPO":                 {limits: limits{0, 32}, make: hours},
			"spec.deletion.unreachableTimeout":            {limits: limits{0, 32}, make: hours},
			"spec.rollout.soak":                           {limits: limits{0, 32}, make: hours},
			"spec.rollout.progressDeadline":               {limits: limits{0, 32}, make: hours},
			"spec.rollout.order[]":                        short,
			"spec.database.backup.copyToRegions[]":        short,
			"spec.security.tls.secretRef.name":            name,
			"spec.security.tls.issuerRef.name":            {limits: name.limits, make: letters, with: host},
			"spec.security.authentication.secretRef.name": name,
			"spec.placement.clusterNames[]":               short,
			"spec.placement.regions[]":                    short,
			ebsBlock + ".kmsKeyID":                        {limits: limits{0, 2048}, make: startingWith("alias/")},
			gcpBlock + ".kmsKeyID":                        {limits: limits{0, 512}, make: startingWith("projects/p/locations/l/keyRings/r/cryptoKeys/k")},
			azureBlock + ".diskEncryptionSetID":           {limits: limits{0, 512}, make: startingWith(azureKeys)},
		}, workloads(map[string]text{"image": image}), podTexts(), ingressTexts(), versionTexts("spec.database.", 1)),
		"MemberCluster": {
			"spec.region":                   short,
			"spec.kubeconfigSecretRef.name": name,
			"spec.kubeconfigSecretRef.key":  {limits: limits{0, 253}, make: letters},
			"spec.cloudAccountRef.name":     short,
		},
		"CloudAccount": accountTexts(),
		"Backup": {
			"spec.appRef.name":     short,
			"spec.clusterRef.name": short,
			"spec.copyToRegions[]": short,
		},
		"Restore": {
			"spec.backupRef.name":  short,
			"spec.clusterRef.name": short,
			"spec.zone":            short,
		},
		"Plan":   planTexts(),
		"WebApp": {"spec.image": {limits: limits{1, 512}, make: tagged}},
		"MySQLCluster": merge(versionTexts("spec.", 5), map[string]text{
			"spec.storage.size":                      {limits: limits{0, 16}, make: sized},
			"spec.storage.storageClass":              short,
			"spec.storage.storageClassName":          {limits: short.limits, make: letters, with: edits{"spec.storage.storageClass": absent()}},
			"spec.backup.schedule":                   {limits: limits{0, 128}, make: schedule},
			"spec.cloud.region":                      short,
			"spec.cloudConfig.aws.rds.instanceClass": {limits: limits{0, 63}, make: startingWith("db.r6g.")},
			"spec.cloudConfig.gcp.gkeMachineType":    {limits: limits{0, 63}, make: letters, with: only("gcp")},
			"spec.cloudConfig.azure.aksNodePool":     {limits: limits{0, 63}, make: letters, with: only("azure")},
		}),
	}
}

func planTexts() map[string]text {
	return map[string]text{
		"spec.manifest":           {limits: limits{2, 262144}, make: letters},
		"spec.requester.username": {limits: limits{1, 1024}, make: letters},
		"spec.requester.uid":      {limits: limits{0, 1024}, make: letters},
		"spec.requester.groups[]": {limits: limits{0, 1024}, make: letters},
	}
}

// only moves a MySQLCluster to another provider.
func only(provider string) edits {
	return edits{"spec.cloud.provider": provider, "spec.cloudConfig.aws": absent()}
}

// sized returns a size in Gi, of which at most 14 characters are a valid number.
func sized(n int) string { return startingWith("1")(max(n, 3)-2) + "Gi" }

// schedule returns a cron expression of the given length.
func schedule(n int) string {
	const rest = " 2 * * *"
	minutes := strings.Repeat("0,", (n-len(rest)-1)/2)
	return minutes + startingWith("0")(n-len(rest)-len(minutes)) + rest
}

// hours returns a duration, which is refused when it is long.
func hours(n int) string { return startingWith("1")(n-1) + "h" }

// tagged returns an image with a tag.
func tagged(n int) string { return letters(n-3) + ":v1" }

// sizes returns the maximum sizes of lists and maps.
func sizes() map[string]map[string]int64 {
	return map[string]map[string]int64{
		"EcommerceApp": merge(map[string]int64{
			"spec.ingress.annotations":    50,
			"spec.placement.clusterNames": 500,
			"spec.placement.regions":      100,
			"spec.placement.providers":    4,
			"spec.placement.tolerations":  50,
			"spec.rollout.order":          100,

			"spec.database.backup.copyToRegions": 8,

			"spec.monitoring.labels":                      50,
			"spec.security.authentication.emailDomains":   50,
			"spec.security.authentication.allowedGroups":  50,
			"spec.security.authentication.trustedProxies": 20,
		}, workloads(map[string]int64{"env": 100, "envFrom": 20}), pods(map[string]int64{
			"resources.requests": 6, "resources.limits": 6,
			"imagePullSecrets": 10, "nodeSelector": 50, "tolerations": 50, "serviceAccountAnnotations": 50, "podLabels": 50, "podAnnotations": 50,
		})),
		"MemberCluster": {},
		"CloudAccount":  {"spec.regions": 50, "spec.aws.keys": 50, "spec.gcp.keys": 50, "spec.azure.keys": 50, "spec.azure.resourceGroups": 50},
		"Backup":        {"spec.copyToRegions": 8},
		"Restore":       {},
		"Plan":          {"spec.requester.groups": 512},
		"WebApp":        {},
		"MySQLCluster":  {"spec.storage.parameters": 50},
	}
}

func enums() map[string]map[string][]string {
	providers := []string{"aws", "azure", "gcp", "other"}
	return map[string]map[string][]string{
		"EcommerceApp": {
			"spec.database.engine":         {"mysql", "postgresql"},
			"spec.backend.strategy":        {"BlueGreen", "RollingUpdate"},
			"spec.frontend.strategy":       {"BlueGreen", "RollingUpdate"},
			"spec.rollout.strategy":        {"All", "Progressive"},
			"spec.rollout.onFailure":       {"Pause", "Rollback"},
			"spec.rollout.approval":        {"BetweenRegions", "None"},
			"spec.database.storageProfile": {"Archive", "Fast", "Standard"},
			"spec.database.backup.method":  {"Auto", "Dump", "Snapshot"},
			ebsBlock + ".type":             {"gp2", "gp3", "io1", "io2", "sc1", "st1"},
			gcpBlock + ".pdType": {
				"hyperdisk-balanced", "hyperdisk-extreme", "hyperdisk-throughput", "pd-balanced", "pd-extreme", "pd-ssd", "pd-standard",
			},
			azureBlock + ".diskSku": {
				"PremiumV2_LRS", "Premium_LRS", "Premium_ZRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Standard_LRS", "UltraSSD_LRS",
			},
			"spec.ingress.externalDNS.sharedHost":   {"None", "Route53"},
			"spec.placement.providers[]":            providers,
			"spec.placement.replicas.mode":          {"Divided", "Duplicated"},
			"spec.placement.replicas.by":            {"FreeCapacity", "Weights"},
			"spec.security.authentication.provider": {"oauth2"},
			"spec.security.tls.issuerRef.kind":      {"ClusterIssuer", "Issuer"},
			"spec.deletion.volumes":                 {"Delete", "Retain"},
			"spec.deletion.backups":                 {"Delete", "Retain"},
			"spec.security.podUserIDs":              {"Fixed", "Namespace"},
			"spec.networkPolicy.egress":             {"Open", "Restricted"},
			"spec.ingress.gatewayRef.protocol":      {"HTTP", "HTTPS"},
		},
		"MemberCluster": {"spec.provider": providers, "spec.mode": {"Agent", "Agentless"}, "spec.scheduling": {"Cordoned", "Drained", "Enabled"}},
		"CloudAccount":  {"spec.provider": providers, "spec.credentials.type": {"Ambient", "Federated", "Secret"}},
		"Backup":        {"spec.method": {"Auto", "Dump", "Snapshot"}, "spec.deletion": {"Delete", "Retain"}},
		"Restore":       {},
		"Plan":          {},
		"WebApp":        {},
		"MySQLCluster": {
			"spec.cloud.provider":           providers,
			"spec.cloudConfig.aws.ebs.type": {"gp2", "gp3", "io1", "io2", "sc1", "st1"},
			"spec.deletion.volumes":         {"Delete", "Retain"},
			"spec.cloudConfig.gcp.pdType":   {"hyperdisk-balanced", "pd-balanced", "pd-extreme", "pd-ssd", "pd-standard"},
			"spec.cloudConfig.azure.diskSku": {
				"PremiumV2_LRS", "Premium_LRS", "Premium_ZRS", "StandardSSD_LRS", "StandardSSD_ZRS", "Standard_LRS", "UltraSSD_LRS",
			},
		},
	}
}

// bounds are the bounds of one kind's spec, by path.
type bounds struct {
	Numbers, Texts map[string]limits
	Sizes          map[string]int64
	Enums          map[string][]string
}

// TestBoundsAreListed compares the tables above with the definitions.
func TestBoundsAreListed(t *testing.T) {
	for kind, schema := range schemas(t) {
		listed := bounds{Numbers: numbers()[kind], Texts: map[string]limits{}, Sizes: sizes()[kind], Enums: enums()[kind]}
		for path, row := range texts()[kind] {
			listed.Texts[path] = row.limits
		}
		defined := bounds{Numbers: map[string]limits{}, Texts: map[string]limits{}, Sizes: map[string]int64{}, Enums: map[string][]string{}}
		visit("", schema, func(path string, field apiextensionsv1.JSONSchemaProps) {
			if strings.HasPrefix(path, "spec") && !foreign(path) && !nested(path) {
				defined.add(path, field)
			}
		})
		if diff := cmp.Diff(listed, defined); diff != "" {
			t.Errorf("%s: bounds in the tables (-) and in the definition (+):\n%s", kind, diff)
		}
	}
}

func (b *bounds) add(path string, field apiextensionsv1.JSONSchemaProps) {
	switch {
	case field.Type == "integer":
		b.Numbers[path] = limits{int64(zeroIfNil(field.Minimum)), int64(zeroIfNil(field.Maximum))}
	case len(field.Enum) > 0:
		for _, value := range field.Enum {
			b.Enums[path] = append(b.Enums[path], strings.Trim(string(value.Raw), `"`))
		}
		slices.Sort(b.Enums[path])
	case field.Type == "string" && field.MaxLength != nil:
		b.Texts[path] = limits{zeroIfNil(field.MinLength), zeroIfNil(field.MaxLength)}
	case field.MaxItems != nil || field.MaxProperties != nil:
		b.Sizes[path] = zeroIfNil(field.MaxItems) + zeroIfNil(field.MaxProperties)
	}
}

func zeroIfNil[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}
