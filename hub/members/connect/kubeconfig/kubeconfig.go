package kubeconfig

import (
	"crypto/tls"
	"crypto/x509"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// MaxSize is the size in bytes above which a kubeconfig is refused.
	MaxSize = 256 << 10
	// UserAgent is the user agent of the hub.
	UserAgent = "shopfleet-hub"
)

// Error describes why a kubeconfig was rejected. It contains field names, but no values.
type Error struct {
	// Reason is KubeconfigMissing, KubeconfigInvalid or UnsafeKubeconfig.
	Reason string
	// Message names the field and says what to do.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func missing(message string) error {
	return &Error{Reason: v1.ReasonKubeconfigMissing, Message: message}
}

func invalid(message string) error {
	return &Error{Reason: v1.ReasonKubeconfigInvalid, Message: message}
}

func unsafe(message string) error {
	return &Error{Reason: v1.ReasonUnsafeKubeconfig, Message: message}
}

// Access is the validated connection data of one cluster.
type Access struct {
	// Config has the server, its certificate authority and the credentials inline, and the
	// hub's user agent. Limits and timeouts are set by package transport.
	Config *rest.Config
	// ExpiresAt is when the first credential expires, and IssuedAt when that credential
	// was issued; zero if unknown.
	IssuedAt, ExpiresAt time.Time
	// Account is the ServiceAccount that the token was issued for, as namespace/name; empty
	// if unknown, and if there is a certificate as well.
	Account string
	// Fingerprint is a hash that is equal for equivalent kubeconfigs. It reveals no
	// credentials.
	Fingerprint string
}

// Parse validates a kubeconfig and returns the connection data of its current context.
// Any error is an *Error.
func Parse(raw []byte) (*Access, error) {
	if len(raw) == 0 {
		return nil, missing("the kubeconfig is empty: store one in the registration Secret")
	}
	if len(raw) > MaxSize {
		return nil, invalid("the kubeconfig is larger than 256 KiB: keep only the context of this cluster")
	}
	file, err := clientcmd.Load(raw)
	if err != nil || file == nil {
		return nil, invalid("the kubeconfig cannot be parsed: it must be YAML or JSON of kind Config, with base64 in the fields that end in -data")
	}
	cluster, user, err := current(file)
	if err != nil {
		return nil, err
	}
	if err := checkCluster(cluster); err != nil {
		return nil, err
	}
	if err := checkUser(user); err != nil {
		return nil, err
	}
	return newAccess(cluster, user)
}

// WithToken returns a copy of a kubeconfig in which the user of the current context has
// another token. Any error is an *Error: the kubeconfig must be valid and have a token.
func WithToken(raw []byte, token string) ([]byte, error) {
	if _, err := Parse(raw); err != nil {
		return nil, err
	}
	file, err := clientcmd.Load(raw)
	if err != nil {
		return nil, invalid("the kubeconfig cannot be parsed")
	}
	_, user, err := current(file)
	if err != nil {
		return nil, err
	}
	if user.Token == "" {
		return nil, invalid("the user of the current context has no token")
	}
	user.Token = token
	renewed, err := clientcmd.Write(*file)
	if err != nil {
		return nil, invalid("the kubeconfig with another token cannot be encoded")
	}
	if _, err := Parse(renewed); err != nil {
		return nil, err
	}
	return renewed, nil
}

// current returns the cluster and the user of the current context.
func current(file *api.Config) (*api.Cluster, *api.AuthInfo, error) {
	if file.CurrentContext == "" {
		return nil, nil, invalid("current-context is not set: set it to the context of this cluster")
	}
	context := file.Contexts[file.CurrentContext]
	if context == nil {
		return nil, nil, invalid("current-context names a context that is not in the file")
	}
	cluster := file.Clusters[context.Cluster]
	if cluster == nil {
		return nil, nil, invalid("the cluster of the current context is not in the file")
	}
	user := file.AuthInfos[context.AuthInfo]
	if user == nil {
		return nil, nil, invalid("the user of the current context is not in the file")
	}
	return cluster, user, nil
}

// newAccess copies the allowed fields one by one, so that fields that are added to
// kubeconfigs later are ignored.
func newAccess(cluster *api.Cluster, user *api.AuthInfo) (*Access, error) {
	if len(cluster.CertificateAuthorityData) > 0 && !x509.NewCertPool().AppendCertsFromPEM(cluster.CertificateAuthorityData) {
		return nil, invalid("certificate-authority-data contains no PEM certificate")
	}
	access := &Access{Config: &rest.Config{
		Host:               cluster.Server,
		BearerToken:        user.Token,
		UserAgent:          UserAgent,
		DisableCompression: cluster.DisableCompression,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: cluster.TLSServerName,
			CAData:     cluster.CertificateAuthorityData,
			CertData:   user.ClientCertificateData,
			KeyData:    user.ClientKeyData,
		},
	}}
	if len(user.ClientCertificateData) > 0 {
		pair, err := tls.X509KeyPair(user.ClientCertificateData, user.ClientKeyData)
		if err != nil {
			return nil, invalid("client-certificate-data and client-key-data are not a matching PEM pair")
		}
		access.IssuedAt, access.ExpiresAt = pair.Leaf.NotBefore, pair.Leaf.NotAfter
	}
	claims := claimsOf(user.Token)
	if len(user.ClientCertificateData) == 0 {
		access.Account = claims.account()
	}
	if expiry, ok := timeOf(claims.Expiry); ok && (access.ExpiresAt.IsZero() || expiry.Before(access.ExpiresAt)) {
		access.ExpiresAt = expiry
		access.IssuedAt, _ = timeOf(claims.IssuedAt)
	}
	access.Fingerprint = fingerprint(access.Config)
	return access, nil
}
