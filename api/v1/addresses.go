package v1

import (
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxAddresses is the largest number of addresses of an application in a cluster.
const maxAddresses = 8

// ValidAddresses returns the IP addresses and DNS names among what a cluster reports, in lower case,
// sorted and without duplicates: at most 8 of at most 253 characters. It drops anything else.
func ValidAddresses(reported []string) []string {
	var all []string
	for _, text := range reported {
		if ip, err := netip.ParseAddr(text); err == nil && ip.Zone() == "" {
			all = append(all, ip.String())
		} else if name := strings.ToLower(text); len(validation.IsDNS1123Subdomain(name)) == 0 {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxAddresses)]
}
