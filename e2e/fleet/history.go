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
func (c *Cluster) AuditMark(ctx context.Context) (audit.Mark, error) { return c.awaitAudit(ctx) }

// AuditSince returns the requests after the mark, and the new end. It includes every
// request that was answered before the call.
func (c *Cluster) AuditSince(ctx context.Context, mark audit.Mark) (audit.Log, audit.Mark, error) {
	if _, err := c.awaitAudit(ctx); err != nil {
		return nil, mark, err
	}
	log, end, err := audit.Read(c.path(fileAudit), mark)
	if err != nil {
		return nil, mark, err
	}
	return log.Where(func(e audit.Event) bool { return !strings.HasPrefix(e.URI, fence) }), end, nil
}

// awaitAudit waits until the audit log has every request that was answered before the call,
// and returns its end. The server writes an event a moment after the response, so awaitAudit
// sends a request of its own and waits until that is in the log. It does not wait for a
// server that is frozen or dead.
func (c *Cluster) awaitAudit(ctx context.Context) (audit.Mark, error) {
	// Before the request is sent, so that its event is behind the mark.
	c.mu.Lock()
	known := c.audited
	c.mu.Unlock()
	question := c.raiseFence(ctx)
	deadline := time.NewTimer(fenceTimeout)
	defer deadline.Stop()
	ticker := time.NewTicker(auditInterval)
	defer ticker.Stop()
	for {
		found, end, err := audit.Find(c.path(fileAudit), known, question)
		if err != nil {
			return 0, err
		}
		if found {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.audited = max(c.audited, end)
			return end, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("waiting for the audit log of %q: %w", c.spec.Name, context.Cause(ctx))
		case <-deadline.C:
			return 0, fmt.Errorf("the audit log of %q lags more than %s behind", c.spec.Name, fenceTimeout)
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
