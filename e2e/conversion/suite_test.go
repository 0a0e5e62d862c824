package conversion_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	namespace    = "shops"
	v2           = "v2"
	apiV1, apiV2 = v1.GroupName + "/v1", v1.GroupName + "/" + v2
)

var (
	errUnavailable = errors.New("the webhook is down")
	errDiffers     = errors.New("differs")
)

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

// secondVersion adds v2 to the shipped definition, served and not stored: spec.image has moved to spec.images.default,
// and spec.replicas has become an object.
func secondVersion(definition *apiextensionsv1.CustomResourceDefinition) {
	added := *definition.Spec.Versions[0].DeepCopy()
	added.Name, added.Storage = v2, false
	spec := added.Schema.OpenAPIV3Schema.Properties["spec"]
	image, replicas := spec.Properties["image"], spec.Properties["replicas"]
	delete(spec.Properties, "image")
	spec.Properties["images"], spec.Properties["replicas"] = nested(image), nested(replicas)
	for i, rule := range spec.XValidations {
		if strings.Contains(rule.Rule, "has(self.image)") {
			spec.XValidations[i].Rule = strings.ReplaceAll(rule.Rule, "has(self.image)", "has(self.images)")
			spec.XValidations[i].FieldPath = ".images"
		}
	}
	added.Schema.OpenAPIV3Schema.Properties["spec"] = spec
	definition.Spec.Versions = append(definition.Spec.Versions, added)
}

// nested returns the schema of an object with a field named default.
func nested(field apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"default"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"default": field}}
}

// convert changes an object to a version.
func convert(object map[string]any, apiVersion string) {
	spec, _ := object["spec"].(map[string]any)
	for field, nested := range map[string]string{"image": "images", "replicas": "replicas"} {
		switch from := object["apiVersion"]; {
		case from == apiV1 && apiVersion == apiV2 && spec[field] != nil:
			value := spec[field]
			delete(spec, field)
			spec[nested] = map[string]any{"default": value}
		case from == apiV2 && apiVersion == apiV1 && spec[nested] != nil:
			value, _ := spec[nested].(map[string]any)
			delete(spec, nested)
			spec[field] = value["default"]
		}
	}
	object["apiVersion"] = apiVersion
}

// webhook converts objects for an API server, unless it is down.
type webhook struct {
	*httptest.Server
	down atomic.Bool
	// refused is the number of requests that were not answered because it was down.
	refused atomic.Int64
}

func newWebhook(t *testing.T) *webhook {
	t.Helper()
	w := &webhook{}
	w.Server = httptest.NewTLSServer(w)
	t.Cleanup(w.Close)
	return w
}

// ServeHTTP responds to a ConversionReview.
func (w *webhook) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	review := &apiextensionsv1.ConversionReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	if w.down.Load() {
		w.refused.Add(1)
		http.Error(out, errUnavailable.Error(), http.StatusServiceUnavailable)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	for _, each := range review.Request.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(each.Raw); err != nil {
			response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
			break
		}
		convert(object.Object, review.Request.DesiredAPIVersion)
		response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Object: object})
	}
	review.Request, review.Response = nil, response
	_ = json.NewEncoder(out).Encode(review)
}

// conversion returns what has an API server call the webhook.
func (w *webhook) conversion() *apiextensionsv1.CustomResourceConversion {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &w.URL, CABundle: ca}, ConversionReviewVersions: []string{"v1"},
	}}
}

// storeV2 has objects stored in v2.
func storeV2(definition *apiextensionsv1.CustomResourceDefinition) {
	definition.Spec.Versions[0].Storage, definition.Spec.Versions[1].Storage = false, true
}

// named returns an empty definition to read into.
func named() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "ecommerceapps." + v1.GroupName}}
}

// shipped returns the shipped definition.
func shipped(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	raw, err := os.ReadFile("../../config/crd/bases/ecommerce.io_ecommerceapps.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, definition); err != nil {
		t.Fatal(err)
	}
	return definition
}

// define applies a definition to a cluster and blocks until its first version is served.
func define(t *testing.T, c *fleet.Cluster, definition *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	raw, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
}

// cluster is an administrator's client of a cluster, also of its definitions.
type cluster struct{ client.WithWatch }

func admin(t *testing.T, c *fleet.Cluster) cluster {
	t.Helper()
	found := framework.Admin(t, c)
	if err := apiextensionsv1.AddToScheme(found.Scheme()); err != nil {
		t.Fatal(err)
	}
	return cluster{found}
}

// check reads an application as a version and returns an error unless its spec is as wanted.
func (c cluster) check(ctx context.Context, t *testing.T, apiVersion, name, spec string) error {
	t.Helper()
	want, got := object(t, apiVersion, name, spec), object(t, apiVersion, name, "{}")
	if err := c.Get(ctx, client.ObjectKeyFromObject(got), got); err != nil {
		return err
	}
	if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
		return fmt.Errorf("%w as %s (-want +got):\n%s", errDiffers, apiVersion, diff)
	}
	return nil
}

// object returns an EcommerceApp of a version with a spec in JSON.
func object(t *testing.T, apiVersion, name, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":"EcommerceApp","metadata":{"namespace":%q,"name":%q},"spec":%s}`, apiVersion, namespace, name, spec)
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return o
}
