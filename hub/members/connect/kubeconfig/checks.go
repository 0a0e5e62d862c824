package kubeconfig

import (
	"net/url"
	"strings"

	"k8s.io/client-go/tools/clientcmd/api"
)

// check is a condition under which a kubeconfig is rejected, and the message for it.
type check struct {
	set     bool
	message string
}

func firstUnsafe(checks []check) error {
	for _, c := range checks {
		if c.set {
			return unsafe(c.message)
		}
	}
	return nil
}

func checkCluster(cluster *api.Cluster) error {
	if err := firstUnsafe([]check{
		{cluster.CertificateAuthority != "", "cluster.certificate-authority is a file path, and the hub reads no files: use certificate-authority-data"},
		{cluster.ProxyURL != "", "cluster.proxy-url is not allowed: the hub connects to the cluster itself"},
		{cluster.InsecureSkipTLSVerify, "cluster.insecure-skip-tls-verify is not allowed: use certificate-authority-data, so that the hub sends its credentials only to this cluster"},
	}); err != nil {
		return err
	}
	return checkServer(cluster.Server)
}

func checkServer(server string) error {
	if server == "" {
		return invalid("cluster.server is not set")
	}
	address, err := url.Parse(server)
	if err != nil || address.Hostname() == "" {
		return invalid("cluster.server is not of the form https://host:port")
	}
	switch {
	case address.Scheme != "https":
		return unsafe("cluster.server does not start with https://: credentials are sent over TLS only")
	case address.User != nil:
		return unsafe("cluster.server contains a user: use user.token or user.client-certificate-data")
	case address.RawQuery != "" || address.ForceQuery || address.Fragment != "":
		return invalid("cluster.server contains a query or a fragment: use the form https://host:port/path")
	}
	return nil
}

func checkUser(user *api.AuthInfo) error {
	const inline = ": use user.token, or user.client-certificate-data with user.client-key-data"
	if err := firstUnsafe([]check{
		{user.Exec != nil, "user.exec is not allowed, because the hub runs no programs" + inline},
		{user.AuthProvider != nil, "user.auth-provider is not allowed, because the hub runs no plugins" + inline},
		{user.TokenFile != "", "user.tokenFile is a file path, and the hub reads no files" + inline},
		{user.ClientCertificate != "", "user.client-certificate is a file path, and the hub reads no files: use user.client-certificate-data"},
		{user.ClientKey != "", "user.client-key is a file path, and the hub reads no files: use user.client-key-data"},
		{user.Username != "" || user.Password != "", "user.username and user.password are not allowed" + inline},
		{user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0,
			"user.as, user.as-uid, user.as-groups and user.as-user-extra are not allowed: the credentials must be those of the hub's own account"},
	}); err != nil {
		return err
	}
	hasCertificate, hasKey := len(user.ClientCertificateData) > 0, len(user.ClientKeyData) > 0
	switch {
	case hasCertificate != hasKey:
		return invalid("user.client-certificate-data and user.client-key-data must both be set")
	case user.Token == "" && !hasCertificate:
		return invalid("the user of the current context has no credentials" + inline)
	case strings.ContainsFunc(user.Token, notInHeader):
		return invalid("user.token contains white space or invalid characters")
	}
	return nil
}

// notInHeader reports whether a character is not allowed in the header that carries a
// token.
func notInHeader(r rune) bool { return r <= ' ' || r > '~' }
