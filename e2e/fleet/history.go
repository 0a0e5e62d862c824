package fleet

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

const (
	// fenceTimeout limits the waits for a response of the server and then for the log:
	// far more than they take, because the machine may be busy.
	fenceTimeout  = 30 * time.Second
	auditInterval = 5 * time.Millisecond
	fence         = "/version?fleetFence="
)

// Audit returns all requests to the API server since it first started.
func (c *Cluster) Audit(ctx context.Context) (audit.Log, error) {
	log, _, err := c.AuditSince(ctx, 0)
	return log, err
}

// AuditMark returns the end of the audit log, for a later AuditSince.
func (c *Cluster) AuditMark(ctx context.Context) (audit.Mark, error) {
	_, mark, err := c.AuditSince(ctx, 0)
	return mark, err
}

// AuditSince returns the requests after the mark, and the new end. It includes every
// request that was answered before the call: the server writes an event a moment after
// the response, so AuditSince sends a request of its own, waits until that is in the log,
// and omits it. It does not wait for a server that is frozen or dead.
func (c *Cluster) AuditSince(ctx context.Context, mark audit.Mark) (audit.Log, audit.Mark, error) {
	question := c.raiseFence(ctx)
	deadline := time.NewTimer(fenceTimeout)
	defer deadline.Stop()
	ticker := time.NewTicker(auditInterval)
	defer ticker.Stop()
	for {
		log, end, err := audit.Read(c.path(fileAudit), mark)
		if err != nil {
			return nil, mark, err
		}
		if question == "" || len(log.Where(func(e audit.Event) bool { return e.URI == question })) > 0 {
			return log.Where(func(e audit.Event) bool { return !strings.HasPrefix(e.URI, fence) }), end, nil
		}
		select {
		case <-ctx.Done():
			return nil, mark, fmt.Errorf("waiting for the audit log of %q: %w", c.spec.Name, context.Cause(ctx))
		case <-deadline.C:
			return nil, mark, fmt.Errorf("the audit log of %q lags more than %s behind", c.spec.Name, fenceTimeout)
		case <-ticker.C:
		}
	}
}

// raiseFence sends a request and returns its URI, or nothing without a response.
func (c *Cluster) raiseFence(ctx context.Context) string {
	// A slow response must not be taken for a missing one: the log would lack events.
	if c.process(APIServer).State() != process.Running {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return ""
	}
	question := fence + strconv.FormatInt(time.Now().UnixNano(), 36)
	if err := client.Discovery().RESTClient().Get().RequestURI(question).Do(ctx).Error(); err != nil {
		return ""
	}
	return question
}
