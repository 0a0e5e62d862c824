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
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
)

var errInsecure = errors.New("the kubeconfig of the member sets insecure-skip-tls-verify")

// Endpoint is the address of a cluster and what verifies its certificate.
type Endpoint struct {
	// Server is a URL.
	Server string
	// CA is a PEM bundle; if empty, public CAs are trusted.
	CA []byte
	// ServerName is the name in the certificate, if it is not the host of Server.
	ServerName string
}

// EndpointOf returns the endpoint of a configuration; server, unless empty, replaces its
// address.
func EndpointOf(caller *rest.Config, server string) (Endpoint, error) {
	inline := rest.CopyConfig(caller)
	if inline.Insecure {
		return Endpoint{}, hint.With(errInsecure, "The hub sends its token only to a server whose certificate it can verify. "+
			"Use a kubeconfig with certificate-authority-data.")
	}
	if err := rest.LoadTLSFiles(inline); err != nil {
		return Endpoint{}, fmt.Errorf("reading the certificate files of the kubeconfig of the member: %w", err)
	}
	e := Endpoint{Server: inline.Host, CA: inline.CAData, ServerName: inline.ServerName}
	if server != "" {
		e.Server = server
	}
	return e, nil
}

// Same reports whether two endpoints are certainly of one cluster.
func (e Endpoint) Same(other Endpoint) bool {
	return e.Server == other.Server && bytes.Equal(bytes.TrimSpace(e.CA), bytes.TrimSpace(other.CA))
}

// Loopback reports whether the server is a loopback address.
func (e Endpoint) Loopback() bool {
	address, err := url.Parse(e.Server)
	if err != nil {
		return false
	}
	host := address.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// Kubeconfig returns the kubeconfig for the hub, without references to files. It
// returns an error if the hub would reject it.
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

// endpointIn returns the endpoint of a stored kubeconfig, and false if the hub would
// reject that.
func endpointIn(raw []byte) (Endpoint, bool) {
	access, err := kubeconfig.Parse(raw)
	if err != nil {
		return Endpoint{}, false
	}
	return Endpoint{Server: access.Config.Host, CA: access.Config.CAData, ServerName: access.Config.ServerName}, true
}
