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

// kind is a kind of the API with an object of it that is accepted.
type kind struct {
	name          string
	resource      schema.GroupVersionResource
	sample        []byte
	clusterScoped bool

	// scaled is the path of the number that /scale changes, if there is one.
	scaled string
}

func ecommerceApps() kind {
	return kind{
		name:     "EcommerceApp",
		resource: v1.GroupVersion.WithResource("ecommerceapps"),
		sample:   samples.EcommerceApp(),
		scaled:   "spec.frontend.replicas",
	}
}

func memberClusters() kind {
	return kind{
		name:          "MemberCluster",
		resource:      v1.GroupVersion.WithResource("memberclusters"),
		sample:        []byte("{apiVersion: ecommerce.io/v1, kind: MemberCluster, metadata: {name: eu-1}}"),
		clusterScoped: true,
	}
}

func webApps() kind {
	return kind{
		name:     "WebApp",
		resource: webappv1.GroupVersion.WithResource("webapps"),
		sample:   samples.WebApp(),
		scaled:   "spec.replicas",
	}
}

func mySQLClusters() kind {
	return kind{
		name:     "MySQLCluster",
		resource: mysqlv1.GroupVersion.WithResource("mysqlclusters"),
		sample:   samples.MySQLCluster(),
		scaled:   "spec.replicas",
	}
}

func kinds() []kind { return []kind{ecommerceApps(), memberClusters(), webApps(), mySQLClusters()} }

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
