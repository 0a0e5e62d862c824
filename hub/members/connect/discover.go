package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"

	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/members/permissions"
)

// The optional capabilities of a cluster.
const (
	CapabilityCertManager        = "cert-manager"
	CapabilityGatewayAPI         = "gateway-api"
	CapabilityIngress            = "ingress"
	CapabilityMetrics            = "metrics"
	CapabilityPrometheusOperator = "prometheus-operator"
)

// maxDrivers bounds the number of CSI drivers that are reported.
const maxDrivers = 16

// capability returns the capability that an API group provides, or an empty string.
func capability(group string) string {
	switch group {
	case "cert-manager.io":
		return CapabilityCertManager
	case "gateway.networking.k8s.io":
		return CapabilityGatewayAPI
	case "metrics.k8s.io":
		return CapabilityMetrics
	case "monitoring.coreos.com":
		return CapabilityPrometheusOperator
	case "snapshot.storage.k8s.io":
		return csi.CapabilitySnapshots
	default:
		return ""
	}
}

// ServerFacts describes the API server of a cluster.
type ServerFacts struct {
	// Version is the version of the API server, for example v1.36.3.
	Version string
	// Capabilities are the optional APIs, sorted.
	Capabilities []string
}

// Lacks reports whether a permission is about an optional API that the cluster does not serve, so that
// it is not needed.
func (f ServerFacts) Lacks(p authorizationv1.ResourceAttributes) bool {
	optional := capability(p.Group)
	return optional != "" && !slices.Contains(f.Capabilities, optional)
}

// Blocked reports whether a read permission is missing, without which informers do not
// sync.
func (i *Inspection) Blocked() bool { return slices.ContainsFunc(i.Missing, permissions.Reads) }

// Discover reads the version, the API groups, the ingress classes and the CSI drivers of
// a cluster. Resources that the credentials must not list count as absent.
func Discover(ctx context.Context, server rest.Interface, ingress networkingv1client.IngressClassesGetter, storage storagev1client.CSIDriversGetter) (ServerFacts, error) {
	facts := ServerFacts{}
	var served version.Info
	if err := get(ctx, server, "/version", &served); err != nil {
		return ServerFacts{}, err
	}
	facts.Version = served.GitVersion
	groups := metav1.APIGroupList{}
	if err := get(ctx, server, "/apis", &groups); err != nil {
		return ServerFacts{}, err
	}
	for _, group := range groups.Groups {
		if c := capability(group.Name); c != "" {
			facts.Capabilities = append(facts.Capabilities, c)
		}
	}
	classes, err := ingress.IngressClasses().List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case err == nil && len(classes.Items) > 0:
		facts.Capabilities = append(facts.Capabilities, CapabilityIngress)
	case err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return ServerFacts{}, fmt.Errorf("listing ingress classes: %w", err)
	}
	drivers, err := driversOf(ctx, storage)
	if err != nil {
		return ServerFacts{}, err
	}
	facts.Capabilities = append(facts.Capabilities, drivers...)
	slices.Sort(facts.Capabilities)
	return facts, nil
}

// driversOf returns the capabilities of the CSI drivers.
func driversOf(ctx context.Context, storage storagev1client.CSIDriversGetter) ([]string, error) {
	found, err := storage.CSIDrivers().List(ctx, metav1.ListOptions{Limit: maxDrivers})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing CSI drivers: %w", err)
	}
	var out []string
	for i := range found.Items {
		out = append(out, csi.CapabilityDriver+found.Items[i].Name)
	}
	return out, nil
}

// get reads a path as JSON into a value.
func get(ctx context.Context, server rest.Interface, path string, into any) error {
	raw, err := server.Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("getting %q: %w", path, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("parsing %q: %w", path, err)
	}
	return nil
}
