package render

import (
	"maps"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// The annotations of external-dns, whose prefix is another one since its version 0.22.
const (
	dnsPrefix       = "external-dns.kubernetes.io/"
	dnsFormerPrefix = "external-dns.alpha.kubernetes.io/"

	dnsHostname      = "hostname"
	dnsIngressSource = "ingress-hostname-source"
	dnsRouteSource   = "gateway-hostname-source"
	dnsSetIdentifier = "set-identifier"
	dnsWeight        = "aws-weight"

	annotationOnly = "annotation-only"
	equalWeight    = "100"
)

// hosts returns the DNS names of the application: the name that all clusters have in common, and with
// externalDNS the cluster's name.
func (s *shop) hosts() []string {
	host := s.app.Spec.Ingress.Host
	switch {
	case host == "":
		return nil
	case s.clusterHost() == "":
		return []string{host}
	default:
		return []string{host, s.clusterHost()}
	}
}

// clusterHost returns the DNS name of the application in this cluster; empty if it has none.
func (s *shop) clusterHost() string {
	spec := s.app.Spec.Ingress
	if spec.ExternalDNS == nil || spec.Host == "" || s.cluster.Name == "" {
		return ""
	}
	return s.cluster.Name + "." + spec.Host
}

// edgeAnnotations returns the annotations of an Ingress or HTTPRoute: the ones of the spec, and ones that
// keep the records of several clusters apart. The source is the annotation that names where
// external-dns finds the names.
func (s *shop) edgeAnnotations(source string) map[string]string {
	spec := s.app.Spec.Ingress
	if s.clusterHost() == "" {
		return spec.Annotations
	}
	all := maps.Clone(spec.Annotations)
	if all == nil {
		all = make(map[string]string)
	}
	if spec.ExternalDNS.SharedHost != v1.SharedHostRoute53 {
		for _, prefix := range []string{dnsPrefix, dnsFormerPrefix} {
			all[prefix+dnsHostname], all[prefix+source] = s.clusterHost(), annotationOnly
		}
		return all
	}
	prefixes := routedPrefixes(spec.Annotations)
	if len(prefixes) == 0 {
		prefixes = []string{dnsPrefix, dnsFormerPrefix}
		all[dnsPrefix+dnsWeight], all[dnsFormerPrefix+dnsWeight] = equalWeight, equalWeight
	}
	for _, prefix := range prefixes {
		all[prefix+dnsSetIdentifier] = s.cluster.Name
	}
	return all
}

// routedPrefixes returns the prefixes of those annotations that set a routing policy of Route 53. A
// record must have one with a set identifier, and no more than one.
func routedPrefixes(annotations map[string]string) []string {
	policies := []string{dnsWeight, "aws-region", "aws-failover", "aws-geolocation-", "aws-geoproximity-", "aws-multi-value-answer"}
	var prefixes []string
	for _, prefix := range []string{dnsPrefix, dnsFormerPrefix} {
		for key := range annotations {
			name, ours := strings.CutPrefix(key, prefix)
			if ours && !slices.Contains(prefixes, prefix) && slices.ContainsFunc(policies, func(p string) bool { return strings.HasPrefix(name, p) }) {
				prefixes = append(prefixes, prefix)
			}
		}
	}
	return prefixes
}
