package join

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/members/kubeconfig"
)

// errInsecure tells that a cluster's certificate would not be verified.
var errInsecure = errors.New("the kubeconfig of the member skips the verification of its certificate")

// Endpoint is where a cluster is reached and how its certificate is verified.
type Endpoint struct {
	// Server is a URL.
	Server string
	// CA is a PEM bundle; empty for the public authorities.
	CA []byte
	// ServerName is the name in the certificate where it is not that of Server.
	ServerName string
}

// EndpointOf returns where the configuration leads; server, unless empty, is
// another address of the same cluster.
func EndpointOf(caller *rest.Config, server string) (Endpoint, error) {
	inline := rest.CopyConfig(caller)
	if inline.Insecure {
		return Endpoint{}, hint.With(errInsecure, "The hub sends its token only to a server that it can verify: "+
			"give a kubeconfig with certificate-authority-data.")
	}
	if err := rest.LoadTLSFiles(inline); err != nil {
		return Endpoint{}, fmt.Errorf("reading the files that the kubeconfig of the member names: %w", err)
	}
	e := Endpoint{Server: inline.Host, CA: inline.CAData, ServerName: inline.ServerName}
	if server != "" {
		e.Server = server
	}
	return e, nil
}

// Same tells whether two endpoints are certainly one cluster's.
func (e Endpoint) Same(other Endpoint) bool {
	return e.Server == other.Server && bytes.Equal(bytes.TrimSpace(e.CA), bytes.TrimSpace(other.CA))
}

// Loopback tells whether the server is an address of this very machine.
func (e Endpoint) Loopback() bool {
	address, err := url.Parse(e.Server)
	if err != nil {
		return false
	}
	host := address.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// Kubeconfig returns the file that the hub is given: everything inline. The error
// is what the hub would say against it.
func (e Endpoint) Kubeconfig(name string, token Token) ([]byte, error) {
	file := clientcmdapi.NewConfig()
	file.CurrentContext = name
	file.Clusters[name] = &clientcmdapi.Cluster{
		Server: e.Server, CertificateAuthorityData: e.CA, TLSServerName: e.ServerName,
	}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token.Value}
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	raw, err := clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig for the hub: %w", err)
	}
	if _, err := kubeconfig.Parse(raw); err != nil {
		return nil, fmt.Errorf("checking the kubeconfig for the hub: %w", err)
	}
	return raw, nil
}

// endpointIn reads the endpoint of a stored kubeconfig; false when it is none that
// the hub would use.
func endpointIn(raw []byte) (Endpoint, bool) {
	access, err := kubeconfig.Parse(raw)
	if err != nil {
		return Endpoint{}, false
	}
	return Endpoint{Server: access.Config.Host, CA: access.Config.CAData, ServerName: access.Config.ServerName}, true
}
