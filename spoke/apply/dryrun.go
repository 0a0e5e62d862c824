package apply

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
)

// DryRunClient returns the client of a cluster for dry runs. It says in the URL of each write that it
// is one, also of a deletion, whose options are in its body: so the pause of the cluster lets it pass,
// and audit logs show it.
func DryRunClient(cl cluster.Cluster) client.Client {
	return &dryRunClient{Client: client.NewDryRunClient(cl.GetClient()), config: cl.GetConfig(), http: cl.GetHTTPClient()}
}

// dryRunClient is safe for concurrent use.
type dryRunClient struct {
	client.Client
	config *rest.Config
	http   *http.Client
}

// Delete sends a dry run of a deletion.
func (c *dryRunClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	requests, err := apiutil.RESTClientForGVK(gvk, false, true, c.config, serializer.NewCodecFactory(c.Scheme()), c.http)
	if err != nil {
		return fmt.Errorf("creating a client for %s: %w", gvk.Kind, err)
	}
	options := (&client.DeleteOptions{}).ApplyOptions(opts)
	options.DryRun = []string{metav1.DryRunAll}
	request := requests.Delete().Resource(mapping.Resource.Resource).Name(object.GetName()).
		Param("dryRun", metav1.DryRunAll).Body(options.AsDeleteOptions())
	if object.GetNamespace() != "" {
		request = request.Namespace(object.GetNamespace())
	}
	return request.Do(ctx).Error()
}
