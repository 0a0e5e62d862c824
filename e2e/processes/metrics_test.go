package processes_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// wrongToken is not a token of any cluster.
const wrongToken = "no-token-of-any-cluster"

// reader reads what a process serves beside its metrics.
type reader struct {
	program *program
	client  *http.Client
}

// newReader returns a reader that trusts the certificate that the process presents now, which
// is self-signed. Its server may still be starting.
func newReader(t *testing.T, p *program) reader {
	t.Helper()
	var shown []*x509.Certificate
	framework.Eventually(t, "the metrics server", func(ctx context.Context) error {
		var err error
		shown, err = certificates(ctx, p)
		return err
	})
	roots := x509.NewCertPool()
	for _, c := range shown {
		roots.AddCert(c)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, DisableKeepAlives: true}
	return reader{program: p, client: &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// certificates returns the certificates that a process presents, without verifying them.
func certificates(ctx context.Context, p *program) ([]*x509.Certificate, error) {
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost"}}
	conn, err := dialer.DialContext(ctx, "tcp", p.metrics)
	if err == nil {
		return nil, errors.Join(errors.New("the certificate was accepted without a trusted authority"), conn.Close())
	}
	var refused *tls.CertificateVerificationError
	if !errors.As(err, &refused) {
		return nil, err
	}
	return refused.UnverifiedCertificates, nil
}

// ask sends a request with a token, and returns the answer.
func (r reader) ask(ctx context.Context, method, path, token, body string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+r.program.metrics+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), errors.Join(err, response.Body.Close())
}

// want sends a request, and checks the code of the response.
func (r reader) want(t *testing.T, code int, method, path, token, body string) string {
	t.Helper()
	got, answer, err := r.ask(t.Context(), method, path, token, body)
	if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Errorf("%s %s answers %d, want %d: %s", method, path, got, code, answer)
	}
	return answer
}

// sum adds up the samples of a family of counters with a controller.
func (r reader) sum(ctx context.Context, token, name string) (float64, error) {
	code, answer, err := r.ask(ctx, http.MethodGet, "/metrics", token, "")
	if err != nil || code != http.StatusOK {
		return 0, fmt.Errorf("reading metrics: %d, %w", code, err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader([]byte(answer)))
	if err != nil {
		return 0, fmt.Errorf("parsing metrics: %w", err)
	}
	family := families[name]
	if family == nil {
		return 0, fmt.Errorf("no metric %s", name)
	}
	var sum float64
	for _, m := range family.Metric {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
	}
	return sum, nil
}

// tokens are the tokens of clients with different roles.
type tokens struct {
	unprivileged, prometheus, debugger string
}

// newTokens creates ServiceAccounts: one without permissions, and two with the roles in
// config.
func newTokens(t *testing.T, c client.Client) tokens {
	t.Helper()
	return tokens{
		unprivileged: newToken(t, c, "unprivileged", ""),
		prometheus:   newToken(t, c, "prometheus", "shopfleet-metrics-reader"),
		debugger:     newToken(t, c, "debugger", "shopfleet-debugger"),
	}
}

func newToken(t *testing.T, c client.Client, name, role string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: name}}
	if err := c.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if role != "" {
		if err := c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: config.Namespace, Name: name}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// checkAuthentication checks that each path requires authentication and its role, and that
// profiles are served only if enabled.
func (r reader) checkAuthentication(t *testing.T, who tokens, profiling bool) {
	t.Helper()
	for path, allowed := range map[string]string{"/metrics": who.prometheus, "/debug/log-level": who.debugger} {
		r.want(t, http.StatusUnauthorized, http.MethodGet, path, "", "")
		r.want(t, http.StatusForbidden, http.MethodGet, path, who.unprivileged, "")
		r.want(t, http.StatusOK, http.MethodGet, path, allowed, "")
		if code, answer, err := r.ask(t.Context(), http.MethodGet, path, wrongToken, ""); err != nil || code < http.StatusBadRequest {
			t.Errorf("with a wrong token, %s answers %d %q (%v)", path, code, answer, err)
		}
	}
	// The roles do not include each other.
	r.want(t, http.StatusForbidden, http.MethodGet, "/metrics", who.debugger, "")
	r.want(t, http.StatusForbidden, http.MethodPut, "/debug/log-level", who.prometheus, "9")

	if !profiling {
		r.want(t, http.StatusNotFound, http.MethodGet, "/debug/pprof/", who.debugger, "")
		r.want(t, http.StatusNotFound, http.MethodGet, "/debug/pprof/heap", who.debugger, "")
		return
	}
	r.want(t, http.StatusUnauthorized, http.MethodGet, "/debug/pprof/heap", "", "")
	r.want(t, http.StatusForbidden, http.MethodGet, "/debug/pprof/heap", who.unprivileged, "")
	r.want(t, http.StatusOK, http.MethodGet, "/debug/pprof/heap", who.debugger, "")
	if index := r.want(t, http.StatusOK, http.MethodGet, "/debug/pprof/", who.debugger, ""); !strings.Contains(index, "goroutine") {
		t.Errorf("the profiles are: %s", index)
	}
}

// checkNames checks that metrics are served under their aliases, too.
func (r reader) checkNames(t *testing.T, token string) {
	t.Helper()
	for alias, name := range map[string]string{
		"reconcile_duration_seconds": "controller_runtime_reconcile_time_seconds",
		"reconcile_errors_total":     "controller_runtime_reconcile_errors_total",
		"reconcile_total":            "controller_runtime_reconcile_total",
		"workqueue_depth":            "workqueue_adds_total",
	} {
		for _, n := range []string{alias, name} {
			if _, err := r.sum(t.Context(), token, n); err != nil {
				t.Errorf("%s: %v", n, err)
			}
		}
	}
	if sum, err := r.sum(t.Context(), token, "reconcile_total"); err != nil || sum == 0 {
		t.Errorf("%v reconciliations (%v), want some", sum, err)
	}
}
