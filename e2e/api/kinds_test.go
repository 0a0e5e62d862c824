package api_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/config/samples"
)

// kind is a kind of the API with a valid object of it.
type kind struct {
	name          string
	resource      schema.GroupVersionResource
	sample        []byte
	clusterScoped bool

	// scaled is the path of the number that /scale changes, if any.
	scaled string

	// changed is a valid change of the spec; nil if the spec is immutable.
	changed edits

	// named is the use of the object's name that bounds its length; empty if nothing does.
	named string
}

// Uses of names.
const (
	labelValue = "the value of a label"
	cloudTag   = "a tag in the cloud"
)

func ecommerceApps() kind {
	return kind{
		name:     "EcommerceApp",
		resource: v1.GroupVersion.WithResource("ecommerceapps"),
		sample:   samples.EcommerceApp(),
		scaled:   "spec.frontend.replicas",
		changed:  edits{"spec.replicas": int64(2)},
		named:    labelValue,
	}
}

func memberClusters() kind {
	return kind{
		name:          "MemberCluster",
		resource:      v1.GroupVersion.WithResource("memberclusters"),
		sample:        []byte("{apiVersion: ecommerce.io/v1, kind: MemberCluster, metadata: {name: eu-1}}"),
		clusterScoped: true,
		changed:       edits{"spec.region": "eu-west-1"},
		named:         labelValue,
	}
}

func cloudAccounts() kind {
	return kind{
		name:          "CloudAccount",
		resource:      v1.GroupVersion.WithResource("cloudaccounts"),
		sample:        samples.CloudAccount(),
		clusterScoped: true,
		changed:       edits{"spec.regions": []any{"eu-west-1"}},
		named:         labelValue,
	}
}

func backups() kind {
	return kind{
		name:     "Backup",
		resource: v1.GroupVersion.WithResource("backups"),
		sample:   samples.Backup(),
		changed:  edits{"spec.deletion": "Delete"},
		named:    cloudTag,
	}
}

// restores returns the cases of Restores, whose spec is immutable.
func restores() kind {
	return kind{
		name:     "Restore",
		resource: v1.GroupVersion.WithResource("restores"),
		sample:   samples.Restore(),
		named:    cloudTag,
	}
}

// plans returns the cases of Plans, whose spec is immutable.
func plans() kind {
	return kind{
		name:     "Plan",
		resource: v1.GroupVersion.WithResource("plans"),
		sample: []byte("{apiVersion: ecommerce.io/v1, kind: Plan, metadata: {name: shop, namespace: production}, " +
			"spec: {manifest: '{}', requester: {username: admin, uid: u-1, groups: [admins]}}}"),
	}
}

func webApps() kind {
	return kind{
		name:     "WebApp",
		resource: webappv1.GroupVersion.WithResource("webapps"),
		sample:   samples.WebApp(),
		scaled:   "spec.replicas",
		changed:  edits{"spec.replicas": int64(2)},
		named:    labelValue,
	}
}

func mySQLClusters() kind {
	return kind{
		name:     "MySQLCluster",
		resource: mysqlv1.GroupVersion.WithResource("mysqlclusters"),
		sample:   samples.MySQLCluster(),
		scaled:   "spec.replicas",
		changed:  edits{"spec.replicas": int64(2)},
		named:    labelValue,
	}
}

func kinds() []kind {
	return []kind{
		ecommerceApps(), memberClusters(), cloudAccounts(), backups(), restores(), plans(), webApps(), mySQLClusters(),
	}
}

// object returns the kind's sample with the given changes.
func (k kind) object(t *testing.T, changes ...edits) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSONStrict(k.sample)
	if err != nil {
		t.Fatal(err)
	}
	if err := object.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change.apply(t, object)
	}
	return object
}
