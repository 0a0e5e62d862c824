package fleet

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/manifests"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/pki"
)

const tokenLife = 24 * time.Hour

// ServiceAccountKubeconfig returns a kubeconfig file for an existing
// ServiceAccount, with everything inline. Its token is valid for 24 hours, and
// only as long as the ServiceAccount exists.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) ([]byte, error) {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife.Seconds()))},
	}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token for service account %q in namespace %q of %q: %w", name, namespace, c.spec.Name, err)
	}
	return pki.Kubeconfig{
		Cluster:   c.spec.Name,
		User:      name,
		Server:    c.Server(),
		Authority: c.admin.CAData,
		Token:     answer.Status.Token,
		Namespace: namespace,
	}.Encode()
}

// Apply applies YAML or JSON documents with server-side apply, namespaces and
// definitions first, and waits until definitions are served. Conflicts are forced.
func (c *Cluster) Apply(ctx context.Context, documents []byte) error {
	objects, err := manifests.Parse(documents)
	if err != nil {
		return err
	}
	if err := manifests.Apply(ctx, c.admin, objects); err != nil {
		return fmt.Errorf("applying to %q: %w", c.spec.Name, err)
	}
	return nil
}

// ApplyFolder applies all YAML and JSON files below the folder, like Apply.
func (c *Cluster) ApplyFolder(ctx context.Context, folder string) error {
	objects, err := manifests.Load(folder)
	if err != nil {
		return err
	}
	if err := manifests.Apply(ctx, c.admin, objects); err != nil {
		return fmt.Errorf("applying to %q: %w", c.spec.Name, err)
	}
	return nil
}
