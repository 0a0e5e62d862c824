package render

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// MySQLCluster renders a MySQL database and, if the spec describes its volumes, a
// StorageClass. An error names the field of the spec that must change.
func MySQLCluster(db *mysqlv1.MySQLCluster, c Cluster) ([]component.Component, error) {
	db = db.DeepCopy()
	spec, err := MySQLDatabase(db, c)
	if err != nil {
		return nil, err
	}
	class, err := storageClass(db, c, spec.Owner)
	if err != nil {
		return nil, err
	}
	if class != nil {
		spec.StorageClass = &class.Name
	}
	rendered, err := database.Render(spec)
	if err != nil {
		return nil, err
	}
	if class != nil {
		// Retained claims cannot be expanded without their class.
		rendered.Objects = append([]component.Object{{Resource: class, Retain: true}}, rendered.Objects...)
	}
	return []component.Component{rendered}, nil
}

// MySQLNames returns the database of a MySQLCluster, with what its names and labels depend on only.
func MySQLNames(db *mysqlv1.MySQLCluster) database.Spec {
	return database.Spec{Owner: objectparts.Owner{Kind: mysqlCluster, Name: db.Name, Namespace: db.Namespace}}
}

// mysqlCluster is the value of the part-of label of children.
const mysqlCluster = "mysqlcluster"

// MySQLDatabase returns the desired database of a MySQLCluster, without a StorageClass that its spec
// describes. An error names the field of the spec that must change.
func MySQLDatabase(db *mysqlv1.MySQLCluster, c Cluster) (database.Spec, error) {
	size, err := resource.ParseQuantity(db.Spec.Storage.Size)
	if err != nil {
		return database.Spec{}, fmt.Errorf("spec.storage.size is %q: give a size such as 100Gi: %w", db.Spec.Storage.Size, err)
	}
	spec := database.Spec{
		Owner:        objectparts.Owner{Kind: mysqlCluster, Name: db.Name, Namespace: db.Namespace, UID: db.UID, Cluster: c.Name},
		Field:        "spec",
		Engine:       v1.EngineMySQL,
		Version:      db.Spec.Version,
		Replicas:     valueOr(db.Spec.Replicas, 1),
		Storage:      size,
		DatabaseName: "app",
		Username:     "app",
		Rotated:      true,
		NodeAffinity: nodeAffinity(db),
		Clients:      db.Spec.Clients,
		Backup: database.Backup{
			Enabled:  db.Spec.Backup.Schedule != "",
			Schedule: string(db.Spec.Backup.Schedule),
			KeepLast: 1,
			KeepDays: valueOr(db.Spec.Backup.Retention, defaultKeepDays),
			// A dump of the empty database would replace the dumps of the lost data.
			Suspended: c.DatabaseLost,
		},
	}
	if name := cmp.Or(db.Spec.Storage.StorageClass, db.Spec.Storage.StorageClassName); name != "" {
		spec.StorageClass = &name
	}
	return spec, nil
}

// storageClass returns the class that the spec describes, or nil. Classes are immutable,
// so the name includes a hash of the content.
func storageClass(db *mysqlv1.MySQLCluster, c Cluster, owner objectparts.Owner) (*storagev1.StorageClass, error) {
	provider := cloudProvider(db, c)
	parameters := volumeParameters(db.Spec.CloudConfig, provider)
	maps.Copy(parameters, db.Spec.Storage.Parameters)
	if len(parameters) == 0 {
		return nil, nil
	}
	driver, known := drivers()[provider]
	if !known {
		return nil, fmt.Errorf("spec.cloud.provider is %q: give aws, gcp or azure, whose volumes spec.storage.parameters describe", provider)
	}
	part := objectparts.Part{Owner: owner, Component: database.Component, App: string(v1.EngineMySQL)}
	base := cmp.Or(db.Spec.Storage.StorageClass, db.Spec.Storage.StorageClassName, db.Name)
	content := []string{owner.Kind, owner.Namespace, owner.Name, driver, objectparts.DataHash(parameters)}
	class := &storagev1.StorageClass{
		TypeMeta:             objectparts.Type("storage.k8s.io/v1", "StorageClass"),
		ObjectMeta:           part.Meta(objectparts.Name(base, "-"+objectparts.Hash(content...), objectparts.MaxName)),
		Provisioner:          driver,
		Parameters:           parameters,
		AllowVolumeExpansion: new(true),
		// The volume is created in the zone of the pod.
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
		// Deleting a namespace deletes its claims, but must not delete the data.
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimRetain),
	}
	class.Namespace = ""
	return class, nil
}

// cloudProvider returns the provider that the spec names, otherwise the provider of its provider
// block, otherwise the cluster's.
func cloudProvider(db *mysqlv1.MySQLCluster, c Cluster) v1.Provider {
	given := db.Spec.CloudConfig
	switch {
	case db.Spec.Cloud.Provider != "":
		return db.Spec.Cloud.Provider
	case given.AWS != nil:
		return v1.ProviderAWS
	case given.GCP != nil:
		return v1.ProviderGCP
	case given.Azure != nil:
		return v1.ProviderAzure
	default:
		return cmp.Or(c.Provider, v1.ProviderOther)
	}
}

func drivers() map[v1.Provider]string {
	return map[v1.Provider]string{
		v1.ProviderAWS:   "ebs.csi.aws.com",
		v1.ProviderGCP:   "pd.csi.storage.gke.io",
		v1.ProviderAzure: "disk.csi.azure.com",
	}
}

// volumeParameters returns the parameters of the provider's CSI driver for a provider
// block.
func volumeParameters(given mysqlv1.CloudConfig, provider v1.Provider) map[string]string {
	parameters := map[string]string{}
	set := func(key, value string) {
		if value != "" {
			parameters[key] = value
		}
	}
	switch {
	case provider == v1.ProviderAWS && given.AWS != nil:
		set("type", given.AWS.EBS.Type)
		if iops := given.AWS.EBS.IOPS; iops != nil {
			set("iops", strconv.Itoa(int(*iops)))
		}
	case provider == v1.ProviderGCP && given.GCP != nil:
		set("type", given.GCP.PDType)
	case provider == v1.ProviderAzure && given.Azure != nil:
		set("skuName", given.Azure.DiskSKU)
	}
	return parameters
}

// nodeAffinity restricts the pods to the region, and prefers nodes of the size in the
// provider's block.
func nodeAffinity(db *mysqlv1.MySQLCluster) *corev1.NodeAffinity {
	in := func(label, value string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
		}}
	}
	affinity := &corev1.NodeAffinity{}
	if region := db.Spec.Cloud.Region; region != "" {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{in(corev1.LabelTopologyRegion, region)},
		}
	}
	if size := nodeSize(db.Spec.CloudConfig); size != "" {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{
			{Weight: 100, Preference: in(corev1.LabelInstanceTypeStable, size)},
		}
	}
	if db.Spec.Cloud.Region == "" && nodeSize(db.Spec.CloudConfig) == "" {
		return nil
	}
	return affinity
}

func nodeSize(given mysqlv1.CloudConfig) string {
	switch {
	case given.GCP != nil:
		return given.GCP.GKEMachineType
	case given.Azure != nil:
		return given.Azure.AKSNodePool
	default:
		return ""
	}
}
