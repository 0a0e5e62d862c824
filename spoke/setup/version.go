package setup

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/shopfleet/shopfleet/config"
)

// versionTimeout bounds the request for the version of the cluster.
const versionTimeout = 10 * time.Second

// reportVersion logs an error if the cluster is older than the oldest that is supported. The spoke starts
// all the same: what runs goes on, and an API server that does not answer yet is waited for elsewhere.
func reportVersion(ctx context.Context, cfg *rest.Config, logger logr.Logger) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return // The manager reports it.
	}
	var served version.Info
	raw, err := client.RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil || json.Unmarshal(raw, &served) != nil || config.SupportsKubernetes(served.GitVersion) {
		return
	}
	logger.Error(nil, "Kubernetes is too old: the API server refuses pods and rules that the spoke writes. Upgrade the cluster",
		"version", served.GitVersion, "oldest", config.OldestKubernetes)
}
