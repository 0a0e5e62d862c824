package connect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
	"github.com/shopfleet/shopfleet/hub/members/health"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// minTokenLife is the minimum of the TokenRequest API, and defaultTokenLife applies to a
// token of unknown life.
const (
	minTokenLife     = 10 * time.Minute
	defaultTokenLife = 365 * 24 * time.Hour
)

var errOtherCluster = errors.New("the server of the kubeconfig is another cluster")

// renewalPermissions returns the permission to renew the token of a kubeconfig; none if the token
// does not expire, or does not belong to a ServiceAccount.
func renewalPermissions(access *kubeconfig.Access) []authorizationv1.ResourceAttributes {
	namespace, name, found := strings.Cut(access.Account, "/")
	if !found || access.ExpiresAt.IsZero() {
		return nil
	}
	return []authorizationv1.ResourceAttributes{{
		Namespace: namespace, Resource: "serviceaccounts", Subresource: "token", Name: name, Verb: "create",
	}}
}

// Renew requests a token for the ServiceAccount of the connection's token, that lives as
// long as that one did, and connects with it. It returns the kubeconfig, which must be the
// one of the connection, with the new token, once the cluster with the UID has accepted
// that. It takes at most Timeouts.Review.
func (c *Connection) Renew(ctx context.Context, raw []byte, uid string) ([]byte, *health.Failure) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.Timeouts.Review)
	defer cancel()
	renewed, err := c.renew(ctx, raw, uid)
	if err == nil {
		return renewed, nil
	}
	c.settings.Logger.V(1).Info("Renewing credentials failed", "host", c.Access.Config.Host, "error", err.Error())
	return nil, c.renewalFailed(err)
}

// renewalFailed returns the failure for an error of a renewal.
func (c *Connection) renewalFailed(err error) *health.Failure {
	f := &health.Failure{Step: health.StepReach, Reason: v1.ReasonRenewalFailed}
	class := apierror.Classify(err)
	switch {
	case class == apierror.Forbidden:
		return health.RenewalDenied(c.Access.Account)
	case class == apierror.NotFound:
		f.Message = "the cluster has no ServiceAccount " + c.Access.Account
	case errors.Is(err, errOtherCluster):
		f.Message = errOtherCluster.Error()
	default:
		f.Message = transport.Classify(err).Message
	}
	return f
}

func (c *Connection) renew(ctx context.Context, raw []byte, uid string) ([]byte, error) {
	core, err := corev1client.NewForConfigAndClient(c.transport.Config(), c.transport.Client())
	if err != nil {
		return nil, fmt.Errorf("creating a client for tokens: %w", err)
	}
	life := defaultTokenLife
	if !c.Access.IssuedAt.IsZero() {
		life = max(c.Access.ExpiresAt.Sub(c.Access.IssuedAt), minTokenLife)
	}
	namespace, name, _ := strings.Cut(c.Access.Account, "/")
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(life / time.Second))}}
	token, err := core.ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token for ServiceAccount %q: %w", c.Access.Account, err)
	}
	renewed, err := kubeconfig.WithToken(raw, token.Status.Token)
	if err != nil {
		return nil, fmt.Errorf("replacing the token: %w", err)
	}
	access, err := kubeconfig.Parse(renewed)
	if err != nil {
		return nil, fmt.Errorf("checking the renewed kubeconfig: %w", err)
	}
	return renewed, c.settings.accepts(ctx, access, uid)
}

// accepts returns nil if the cluster with the UID accepts the credentials.
func (s *Settings) accepts(ctx context.Context, access *kubeconfig.Access, uid string) error {
	t, err := transport.Open(access.Config, s.Timeouts.transport(), s.Limits)
	if err != nil {
		return fmt.Errorf("opening a connection with the new token: %w", err)
	}
	defer t.Close()
	found, err := t.Probe(ctx)
	if err != nil {
		return fmt.Errorf("connecting with the new token: %w", err)
	}
	if found != uid {
		return fmt.Errorf("connecting with the new token: %w", errOtherCluster)
	}
	return nil
}
