package conversion_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// A copy in both versions, and what is left of each when strategy None has read it as the other or stored it in the other.
const (
	copyV1 = `{"image":"shop:v1","imageRegistry":"example.com","replicas":2}`
	copyV2 = `{"images":{"default":"shop:v1"},"imageRegistry":"example.com","replicas":{"default":2}}`
	restV1 = `{"imageRegistry":"example.com","replicas":2}`
	restV2 = `{"imageRegistry":"example.com","replicas":{}}`
)

// defaulted returns a spec with the field that has a default in v2 only.
func defaulted(spec string) string { return `{"class":"standard",` + spec[1:] }

// member is a cluster without a hub or an agent.
type member struct{ cluster }

// TestMember shows what strategy None does in a member, and that a copy is complete if it is written in the version that
// the member stores.
func TestMember(t *testing.T) {
	t.Parallel()
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "eu-1", APIServerOnly: true}}})
	m := member{admin(t, f.Member("eu-1"))}
	framework.CreateNamespace(t, m, namespace)
	define(t, f.Member("eu-1"), shipped(t))
	var steps framework.Steps
	const first, stored1, stored2 = "v1 alone", "both served and v1 stored", "both served and v2 stored"
	steps.Add(first, func(t *testing.T) {
		t.Helper()
		m.write(t, apiV1)
	})
	steps.Add(stored1, m.testV1Stored, first)
	steps.Add(stored2, m.testV2Stored, stored1)
	steps.Run(t)
}

// testV1Stored has v2 served: it loses what v1 has not, when it is read and when it is written.
func (m member) testV1Stored(t *testing.T) {
	t.Helper()
	framework.Edit(t, m, named(), func(definition *apiextensionsv1.CustomResourceDefinition) {
		secondVersion(definition)
		spec := definition.Spec.Versions[1].Schema.OpenAPIV3Schema.Properties["spec"]
		spec.Properties["class"] = apiextensionsv1.JSONSchemaProps{Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"standard"`)}}
	})
	created := m.awaitReads(t, apiV1, copyV1, reads{asV1: copyV1, asV2: restV1})
	m.awaitReads(t, apiV2, defaulted(copyV2), reads{asV1: restV2, asV2: restV2})
	m.checkRefused(t, apiV2, created, "spec.replicas: expected map, got &{2}")
	m.write(t, apiV1)
}

// testV2Stored has v2 stored: a write as v1 loses what v2 has not, also one of the status by an agent of before.
func (m member) testV2Stored(t *testing.T) {
	t.Helper()
	framework.Edit(t, m, named(), storeV2)
	created := m.awaitReads(t, apiV1, copyV1, reads{asV1: restV1, asV2: defaulted(restV1)})
	m.checkRefused(t, apiV1, created, "frontend.image or image must be set")
	created = m.awaitReads(t, apiV2, copyV2, reads{asV1: restV2, asV2: defaulted(copyV2)})
	status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Running"}}`))
	err := m.Status().Patch(t.Context(), object(t, apiV1, created, "{}"), status)
	if err := errors.Join(err, m.check(t.Context(), t, apiV2, created, defaulted(restV2))); err != nil {
		t.Errorf("after a write of the status as v1: %v", err)
	}
	m.checkRefused(t, apiV2, "copy", "spec.replicas: expected map, got &{2}")
	m.replace(t, apiV2)
	m.write(t, apiV2)
}

// reads are the wanted specs of an object by the version that it is read as.
type reads struct{ asV1, asV2 string }

// awaitReads creates objects as a version until one is read as wanted, because the API server notices a change of the
// definition a moment later, and returns its name.
func (m member) awaitReads(t *testing.T, apiVersion, spec string, want reads) string {
	t.Helper()
	created := ""
	framework.Eventually(t, "an object of "+apiVersion+" to be stored as wanted", func(ctx context.Context) error {
		o := object(t, apiVersion, "", spec)
		o.SetGenerateName("shop-")
		if err := m.Create(ctx, o); err != nil {
			return err
		}
		created = o.GetName()
		return errors.Join(m.check(ctx, t, apiV1, created, want.asV1), m.check(ctx, t, apiV2, created, want.asV2))
	})
	return created
}

// checkRefused applies a field that both versions have alike over an object, and wants a refusal.
func (m member) checkRefused(t *testing.T, apiVersion, name, says string) {
	t.Helper()
	intent := client.ApplyConfigurationFromUnstructured(object(t, apiVersion, name, `{"paused":true}`))
	if err := m.Apply(t.Context(), intent, client.FieldOwner("hub"), client.ForceOwnership); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("applying %s as %s: %v, want %q", name, apiVersion, err, says)
	}
}

// write applies a copy in the version that the member stores, as a hub with two versions has to, and reads it.
func (m member) write(t *testing.T, want string) {
	t.Helper()
	definition := named()
	if err := m.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
		t.Fatal(err)
	}
	versions := definition.Spec.Versions
	stored := slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
	apiVersion := definition.Spec.Group + "/" + versions[stored].Name
	intent := object(t, apiV2, "copy", copyV2)
	convert(intent.Object, apiVersion)
	raw, err := json.Marshal(intent.Object["spec"])
	if err != nil || apiVersion != want {
		t.Fatalf("%s is stored, want %s (%v)", apiVersion, want, err)
	}
	if err := m.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(intent), client.FieldOwner("hub"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	wanted := string(raw)
	if apiVersion == apiV2 {
		wanted = defaulted(wanted)
	}
	if err := m.check(t.Context(), t, apiVersion, "copy", wanted); err != nil {
		t.Error(err)
	}
}

// replace updates the copy: an apply over one of another version is refused.
func (m member) replace(t *testing.T, apiVersion string) {
	t.Helper()
	live := object(t, apiVersion, "copy", "{}")
	if err := m.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
		t.Fatal(err)
	}
	live.Object["spec"] = object(t, apiVersion, "", copyV2).Object["spec"]
	if err := m.Update(t.Context(), live); err != nil {
		t.Fatal(fmt.Errorf("replacing the copy: %w", err))
	}
}
