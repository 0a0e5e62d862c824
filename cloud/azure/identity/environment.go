package identity

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	azcloud "github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
)

// Blobs is the name of the blob service, as azcloud.ResourceManager is the name of the disk service.
const Blobs azcloud.ServiceName = "shopfleet/blobs"

// Environment holds the address of an API and of the authority that issues its tokens.
type Environment struct {
	azcloud.Configuration

	service azcloud.ServiceName
	// fromEndpoint is true if an endpoint selected the cloud. Environment variables are ignored then.
	fromEndpoint bool
}

// Endpoint returns the base URL of the API.
func (e Environment) Endpoint() string { return e.Services[e.service].Endpoint }

func (e Environment) scope() string { return e.Services[e.service].Audience + "/.default" }

// sovereignCloud is a public or sovereign cloud, with the domain of its storage.
type sovereignCloud struct {
	azcloud.Configuration

	storage string
}

func clouds() []sovereignCloud {
	return []sovereignCloud{
		{azcloud.AzurePublic, "core.windows.net"},
		{azcloud.AzureGovernment, "core.usgovcloudapi.net"},
		{azcloud.AzureChina, "core.chinacloudapi.cn"},
	}
}

// Locate returns the environment of an endpoint of Azure Resource Manager; empty selects
// the public cloud. The endpoint must be https, or http on a loopback address.
func Locate(endpoint string) (Environment, error) {
	if endpoint == "" {
		return Environment{azcloud.AzurePublic, azcloud.ResourceManager, false}, nil
	}
	u, loopback, err := parse(endpoint)
	if err != nil {
		return Environment{}, err
	}
	for _, known := range clouds() {
		of, err := url.Parse(known.Services[azcloud.ResourceManager].Endpoint)
		if err == nil && u.Scheme == "https" && strings.EqualFold(u.Hostname(), of.Hostname()) {
			return Environment{known.Configuration, azcloud.ResourceManager, true}, nil
		}
	}
	base := strings.TrimSuffix(endpoint, "/")
	public := azcloud.AzurePublic.Services[azcloud.ResourceManager]
	at := Environment{azcloud.Configuration{
		ActiveDirectoryAuthorityHost: azcloud.AzurePublic.ActiveDirectoryAuthorityHost,
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			azcloud.ResourceManager: {Endpoint: base, Audience: public.Audience},
		},
	}, azcloud.ResourceManager, true}
	if loopback {
		at.ActiveDirectoryAuthorityHost = base + "/"
	}
	return at, nil
}

// Blobs returns the environment of a storage account in the same cloud: at an endpoint, or
// at the cloud's own address if endpoint is empty. The endpoint must be https, or http on a
// loopback address. It selects the cloud if no endpoint of Resource Manager did.
func (e Environment) Blobs(storageAccount, endpoint string) (Environment, error) {
	authority, named, base := e.ActiveDirectoryAuthorityHost, e.fromEndpoint, ""
	if endpoint == "" {
		base = "https://" + storageAccount + ".blob." + e.storage()
	} else {
		u, loopback, err := parse(endpoint)
		if err != nil {
			return Environment{}, err
		}
		base = strings.TrimSuffix(endpoint, "/")
		for _, known := range clouds() {
			if !e.fromEndpoint && strings.HasSuffix(strings.ToLower(u.Hostname()), "."+known.storage) {
				authority, named = known.ActiveDirectoryAuthorityHost, true
			}
		}
		if !e.fromEndpoint && loopback {
			authority, named = base+"/", true
		}
	}
	return Environment{azcloud.Configuration{
		ActiveDirectoryAuthorityHost: authority,
		Services: map[azcloud.ServiceName]azcloud.ServiceConfiguration{
			Blobs: {Endpoint: base, Audience: "https://storage.azure.com"}, // In all clouds.
		},
	}, Blobs, named}, nil
}

// storage returns the domain of the storage service in the cloud.
func (e Environment) storage() string {
	for _, known := range clouds() {
		if known.ActiveDirectoryAuthorityHost == e.ActiveDirectoryAuthorityHost {
			return known.storage
		}
	}
	return "core.windows.net"
}

// parse reads an endpoint, and reports whether it is on this machine.
func parse(endpoint string) (u *url.URL, loopback bool, err error) {
	u, err = url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, false, fmt.Errorf("%q is not a URL of a host", strings.ToValidUTF8(endpoint, "?"))
	}
	ip := net.ParseIP(u.Hostname())
	loopback = u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback) {
		return nil, false, fmt.Errorf("%q must be https, or http on a loopback address", endpoint)
	}
	return u, loopback, nil
}
