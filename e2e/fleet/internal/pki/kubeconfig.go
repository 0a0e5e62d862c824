package pki

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is the content of a kubeconfig file for one user of one cluster.
// Either Client or Token says who the user is.
type Kubeconfig struct {
	Cluster string
	User    string
	Server  string
	// Authority is the PEM encoded certificate that signs the server's.
	Authority []byte
	Client    Pair
	Token     string
	// Namespace holds the namespace of requests without one; empty means "default".
	Namespace string
}

// Encode returns the file, with everything inline.
func (k Kubeconfig) Encode() ([]byte, error) {
	config := api.NewConfig()
	config.Clusters[k.Cluster] = &api.Cluster{Server: k.Server, CertificateAuthorityData: k.Authority}
	config.AuthInfos[k.User] = &api.AuthInfo{
		ClientCertificateData: k.Client.Certificate,
		ClientKeyData:         k.Client.Key,
		Token:                 k.Token,
	}
	config.Contexts[k.Cluster] = &api.Context{Cluster: k.Cluster, AuthInfo: k.User, Namespace: k.Namespace}
	config.CurrentContext = k.Cluster
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding the kubeconfig of %q: %w", k.User, err)
	}
	return raw, nil
}
