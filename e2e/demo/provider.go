package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/demo/background"
	"github.com/shopfleet/shopfleet/e2e/demo/cloud"
	"github.com/shopfleet/shopfleet/e2e/fleet"
)

const (
	providerState = "cloud.json"
	providerLog   = "cloud.log"
	// providerVolumes names the file that holds the volumes and snapshots of the cloud.
	providerVolumes = "cloud-state.json"

	// account is the CloudAccount, and its Secret.
	account = "aws"
	// home is the member whose database is backed up, away the region of the copies.
	home = "eu-1"
	away = "us-east-1"
	// hubTimeout limits the time that the hub may take for a request.
	hubTimeout = "60s"
)

// accountManifest is the CloudAccount of the demo; config/samples has one for users.
const accountManifest = `
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: shopfleet-system, labels: {ecommerce.io/cloud-account: "true"}}
stringData: {accessKeyID: %[2]q, secretAccessKey: %[3]q}
---
apiVersion: ecommerce.io/v1
kind: CloudAccount
metadata: {name: %[1]s}
spec:
  provider: aws
  endpoint: http://%[5]s
  aws: {accountID: %[4]q}
  credentials: {type: Secret, secretRef: {name: %[1]s}}
`

// provider returns the process that simulates the cloud.
func (d *demo) provider() background.Process {
	return background.Process{
		What: "the cloud", Program: d.path("bin", "demo"), Dir: d.root, State: d.path(providerState), Log: d.path(providerLog),
	}
}

// ensureProvider starts the cloud, unless one runs for the members that there are.
func (d *demo) ensureProvider(ctx context.Context) error {
	f, err := fleet.Open(d.dir)
	if err != nil {
		return err
	}
	var files []string
	for _, c := range f.Clusters() {
		if c.Spec().Driverless {
			files = append(files, c.AdminKubeconfig())
		}
	}
	return d.provider().Ensure(ctx, files, func(_ context.Context, address string) ([]string, error) {
		return []string{"cloud", "--dir", d.dir, "--address", address}, nil
	})
}

// playProvider runs the cloud in the background process.
func playProvider(ctx context.Context, dir, address string) error {
	d := &demo{dir: dir}
	return cloud.Run(ctx, cloud.Options{Fleet: dir, Address: address, File: d.path(providerVolumes)})
}

// introduce gives the hub the cloud's account, and members their account.
func (d *demo) introduce(ctx context.Context, progress io.Writer, members ...string) error {
	at, err := d.provider().Load()
	if err != nil {
		return err
	}
	if err := d.pipe(ctx, apply(), manifestOf(at.Health)); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "wait", "--for=condition=Ready", "cloudaccount", account, "--timeout="+hubTimeout); err != nil {
		return fmt.Errorf("%w\nthe hub's log ends with:\n%s", err, d.operator().LogTail())
	}
	_, hub, err := d.hubClient()
	if err != nil {
		return err
	}
	known := &v1.CloudAccount{}
	if err := hub.Get(ctx, client.ObjectKey{Name: account}, known); err != nil {
		return fmt.Errorf("getting the account: %w", err)
	}
	_, _ = fmt.Fprintf(progress, "account %s, as %s\n", known.Spec.AWS.AccountID, known.Status.Identity)
	for _, name := range members {
		if err := d.kubectl(ctx, "patch", "membercluster", name, "--type=merge", "-p", `{"spec":{"cloudAccountRef":{"name":"`+account+`"}}}`); err != nil {
			return err
		}
		if err := d.kubectl(ctx, "wait", "--for=condition=StorageReady", "membercluster", name, "--timeout="+hubTimeout); err != nil {
			return err
		}
		member := &v1.MemberCluster{}
		if err := hub.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
			return fmt.Errorf("getting the member %q: %w", name, err)
		}
		classes := make([]string, 0, len(member.Status.StorageClasses))
		for _, c := range member.Status.StorageClasses {
			classes = append(classes, fmt.Sprintf("%s is %s", c.Profile, c.ClassName))
		}
		_, _ = fmt.Fprintf(progress, "storage of %s: %s\n", name, strings.Join(classes, ", "))
	}
	return nil
}

// manifestOf returns the manifest of the account at the address of the cloud.
func manifestOf(address string) string {
	key := cloud.Account()
	return fmt.Sprintf(accountManifest, account, key.ID, key.Secret, key.Account, address)
}

// kubectl runs kubectl against the hub.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	_, err := quiet(d.command(ctx, d.path("bin", "kubectl"), args...))
	return err
}

// pipe runs kubectl with manifests for a file.
func (d *demo) pipe(ctx context.Context, args []string, manifests string) error {
	cmd := d.command(ctx, d.path("bin", "kubectl"), append(slices.Clone(args), "-f", "-")...)
	cmd.Stdin = strings.NewReader(manifests)
	_, err := quiet(cmd)
	return err
}
