package identity

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
)

// Place is where the API is, and where tokens for it are given out.
type Place struct{ azcloud.Configuration }

// Endpoint is the base URL of the API.
func (p Place) Endpoint() string { return p.Services[azcloud.ResourceManager].Endpoint }

func (p Place) scope() string { return p.Services[azcloud.ResourceManager].Audience + "/.default" }

// Locate finds out about an endpoint; empty is the public cloud's. It must be https, or
// http on a loopback address.
func Locate(endpoint string) (Place, error) {
	if endpoint == "" {
		return Place{azcloud.AzurePublic}, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil {
		return Place{}, fmt.Errorf("%q is not a URL of a host", strings.ToValidUTF8(endpoint, "?"))
	}
	for _, known := range []azcloud.Configuration{azcloud.AzurePublic, azcloud.AzureGovernment, azcloud.AzureChina} {
		of, err := url.Parse(known.Services[azcloud.ResourceManager].Endpoint)
		if err == nil && u.Scheme == "https" && strings.EqualFold(u.Hostname(), of.Hostname()) {
			return Place{known}, nil
		}
	}
	ip := net.ParseIP(u.Hostname())
	loopback := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return Place{}, fmt.Errorf("%q must be https, or http on a loopback address", endpoint)
	}
	base := strings.TrimSuffix(endpoint, "/")
	public := azcloud.AzurePublic.Services[azcloud.ResourceManager]
	at := Place{azcloud.Configuration{
		ActiveDirectoryAuthorityHost: azcloud.AzurePublic.ActiveDirectoryAuthorityHost,
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			azcloud.ResourceManager: {Endpoint: base, Audience: public.Audience},
		},
	}}
	if loopback {
		at.ActiveDirectoryAuthorityHost = base + "/"
	}
	return at, nil
}
