package spoke_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// httpRoutes is a definition as the Gateway API has it: with the defaults of the fields that the spoke
// writes, and otherwise without a schema.
const httpRoutes = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: httproutes.gateway.networking.k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes-sigs/gateway-api/pull/2997"}
spec:
  group: gateway.networking.k8s.io
  scope: Namespaced
  names: {plural: httproutes, singular: httproute, kind: HTTPRoute, listKind: HTTPRouteList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              parentRefs:
                type: array
                items:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
                  properties:
                    group: {type: string, default: gateway.networking.k8s.io}
                    kind: {type: string, default: Gateway}
              rules:
                type: array
                items:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
                  properties:
                    matches: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}, default: [{path: {type: PathPrefix, value: /}}]}
                    backendRefs:
                      type: array
                      items:
                        type: object
                        x-kubernetes-preserve-unknown-fields: true
                        properties:
                          group: {type: string, default: ""}
                          kind: {type: string, default: Service}
                          weight: {type: integer, default: 1}
`

func gateways() string {
	definition := strings.NewReplacer("httproute", "gateway", "HTTPRoute", "Gateway").Replace(httpRoutes)
	before, _, _ := strings.Cut(definition, "          spec:\n")
	return before
}

// gatewayObject returns an object of the Gateway API.
func gatewayObject(kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(component.GatewayAPI().WithKind(kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// setStatus sets the status of an object, as its controller does.
func (e *environment) setStatus(t *testing.T, object client.Object, change func()) {
	t.Helper()
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", object)
	}
	change()
	if err := e.Status().Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// awaitAddresses waits until the status of an application has addresses.
func (e *environment) awaitAddresses(t *testing.T, app *v1.EcommerceApp, want ...string) {
	t.Helper()
	framework.Await(t, e, app, fmt.Sprintf("the addresses %q", want), func(app *v1.EcommerceApp) error {
		if !slices.Equal(app.Status.Addresses, want) {
			return fmt.Errorf("it has %q", app.Status.Addresses)
		}
		return nil
	})
}

// awaitReason waits until the ingress of an application is not ready for a reason, while customers
// are served.
func (e *environment) awaitReason(t *testing.T, app *v1.EcommerceApp, reason string) {
	t.Helper()
	framework.Await(t, e, app, "the reason "+reason, func(app *v1.EcommerceApp) error {
		if c := part(app, "ingress"); c.Ready || c.Reason != reason {
			return fmt.Errorf("ready %t, %s: %s", c.Ready, c.Reason, c.Message)
		}
		if c := framework.Condition(app.Status.Conditions, v1.ConditionAvailable); c.Status != metav1.ConditionTrue {
			return fmt.Errorf("available %s: %s", c.Status, c.Message)
		}
		return nil
	})
}

// testGateway moves an application from an Ingress to a Gateway, in a cluster that does not serve
// HTTPRoutes at first, and back. What admitted requests before stays until its replacement does.
func testGateway(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := framework.Small(w.namespace(t), "routed")
		app.Spec.Ingress = v1.Ingress{Host: "shop.example.com", ClassName: new("nginx")}
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		w.awaitAddresses(t, app, "127.0.0.1")
		ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "routed-ingress"}}
		w.setStatus(t, ingress, func() {
			ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: "lb.example.test"}, {IP: "192.0.2.2"}}
		})
		w.awaitAddresses(t, app, "192.0.2.2", "lb.example.test")

		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Spec.Ingress.ClassName, app.Spec.Ingress.GatewayRef = nil, &v1.GatewayReference{Name: "public"}
		})
		w.awaitReason(t, app, v1.ReasonGatewayAPINotServed)
		w.awaitAddresses(t, app, "192.0.2.2", "lb.example.test")

		for _, definition := range []string{httpRoutes, gateways()} {
			if err := w.cluster.Apply(t.Context(), []byte(definition)); err != nil {
				t.Fatal(err)
			}
		}
		w.awaitReason(t, app, v1.ReasonWaitingForGateway)
		uid := ingress.UID
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress); err != nil || ingress.UID != uid {
			t.Errorf("the Ingress did not stay: %v", err)
		}
		w.routeRequests(t, app)
		mark := w.markSettled(t, app.Namespace)
		w.reconcile(t, app, "unchanged with a route")
		w.checkStatusWrites(t, mark, app, 1)

		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Spec.Ingress.ClassName, app.Spec.Ingress.GatewayRef = new("nginx"), nil
		})
		w.env.ExpectDeletes(invariants.Expected{Resource: "httproutes", Namespace: app.Namespace, Name: "routed-ingress"})
		framework.AwaitGone(t, w, gatewayObject("HTTPRoute", app.Namespace, "routed-ingress"))
		w.awaitRunning(t, app)
		w.awaitAddresses(t, app, "127.0.0.1")
		framework.Delete(t, w, app)
		framework.Delete(t, w, definition("httproutes.gateway.networking.k8s.io"))
		framework.Delete(t, w, definition("gateways.gateway.networking.k8s.io"))
	}
}

// routeRequests lets a Gateway accept the route of an application, which then has the addresses of the
// Gateway, and no Ingress.
func (e *environment) routeRequests(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	gateway, route := gatewayObject("Gateway", app.Namespace, "public"), gatewayObject("HTTPRoute", app.Namespace, "routed-ingress")
	framework.Create(t, e, gateway)
	address := func(values ...string) {
		e.setStatus(t, gateway, func() {
			var all []any
			for _, value := range values {
				all = append(all, map[string]any{"value": value})
			}
			gateway.Object["status"] = map[string]any{"addresses": all}
		})
	}
	address("192.0.2.10")
	e.env.ExpectDeletes(invariants.Expected{Resource: "ingresses", Namespace: app.Namespace, Name: "routed-ingress"})
	e.setStatus(t, route, func() {
		condition := func(kind string) any {
			return map[string]any{"type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": route.GetGeneration(), "lastTransitionTime": "2026-01-01T00:00:00Z"}
		}
		route.Object["status"] = map[string]any{"parents": []any{map[string]any{
			"controllerName": "example.com/gateway", "conditions": []any{condition("Accepted"), condition("ResolvedRefs")},
			"parentRef": map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "public"},
		}}}
	})
	framework.AwaitGone(t, e, &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "routed-ingress"}})
	e.awaitRunning(t, app)
	e.awaitAddresses(t, app, "192.0.2.10")
	address("192.0.2.11", "not a name", "lb.example.test")
	e.awaitAddresses(t, app, "192.0.2.11", "lb.example.test")
}
