package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// login is the Secret with the credentials of the identity provider.
	login = "shop-login"
	// manager owns what the demo adds to the sample, which another field manager applies.
	manager = "platform-team"
	// completeTimeout limits how long the shop may take to use what it was given.
	completeTimeout = time.Minute
)

// loginManifest has the credentials of the login, which the hub may copy to the clusters of the
// shop, and those fields of the shop alone that the sample leaves out.
const loginManifest = `
apiVersion: v1
kind: Secret
metadata: {name: %[3]s, namespace: %[2]s}
stringData: {client-id: shop, client-secret: demo, issuer-url: "https://login.invalid"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: shopfleet-propagate, namespace: %[2]s}
rules: [{apiGroups: [""], resources: [secrets], resourceNames: [%[3]s], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: shopfleet-propagate, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: shopfleet-propagate}
subjects: [{kind: ServiceAccount, name: shopfleet-hub, namespace: shopfleet-system}]
---
apiVersion: ecommerce.io/v1
kind: EcommerceApp
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  propagate: [{kind: Secret, name: %[3]s}]
  security: {authentication: {secretRef: {name: %[3]s}, emailDomains: [example.com]}}
  database: {backup: {copyToRegions: [%[4]s]}}
`

// showMissing shows what the shop misses in the words of the product, unless a run before has given
// it that. It fails if the product finds nothing missing.
func (d *demo) showMissing(ctx context.Context) error {
	_, hub, err := d.hubClient()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shop}, app); err != nil {
		return fmt.Errorf("getting the shop: %w", err)
	}
	if app.Spec.Security.Authentication.SecretRef != nil {
		return nil
	}
	if err := d.await(ctx, "Degraded=True"); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(d.screen.out)
	return d.showHub(ctx, "get", "ecommerceapp", shop, "-n", namespace,
		"-o", `jsonpath={.status.conditions[?(@.type=="Degraded")].message}{"\n"}`)
}

// complete applies as a second field manager what the sample leaves out: a login that admits users,
// and the region for copies of backups. It waits until nothing of the shop is missing.
func (d *demo) complete(ctx context.Context, progress io.Writer) error {
	args := append(apply(), "--field-manager", manager)
	if err := d.pipe(ctx, args, fmt.Sprintf(loginManifest, shop, namespace, login, away)); err != nil {
		return err
	}
	for _, condition := range []string{"Degraded=False", "Ready=True"} {
		if err := d.await(ctx, condition); err != nil {
			return err
		}
	}
	return d.show(ctx, progress, "status", shop, "-n", namespace)
}

// await waits until the shop has a condition.
func (d *demo) await(ctx context.Context, condition string) error {
	err := d.kubectl(ctx, "wait", "--for=condition="+condition, "ecommerceapp", shop, "-n", namespace, "--timeout="+completeTimeout.String())
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w\nthe conditions of the shop:\n%s\nthe hub's log ends with:\n%s", err, d.conditions(ctx), d.operator().LogTail())
	}
	return err
}
