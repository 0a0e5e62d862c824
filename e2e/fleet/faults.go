package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

// Kill ends the components as a power cut would, and returns when they are gone.
// None named means all.
func (c *Cluster) Kill(ctx context.Context, components ...Component) error {
	if len(components) == 0 {
		components = c.spec.components()
	}
	failed := make([]error, 0, len(components)+1)
	// All at once, so that none has time to notice that another is gone.
	for _, component := range components {
		failed = append(failed, c.process(component).Signal(syscall.SIGKILL))
	}
	for _, component := range components {
		if err := c.process(component).Kill(ctx); err != nil {
			failed = append(failed, fmt.Errorf("killing %s of %q: %w", component, c.spec.Name, err))
			continue
		}
		c.mu.Lock()
		delete(c.processes, component)
		c.mu.Unlock()
	}
	return errors.Join(append(failed, c.changed())...)
}

// Freeze stops the components without ending them: connections stay open and nothing
// responds, as when a network drops every packet. No names mean etcd and the API server.
// It returns when they have stopped.
func (c *Cluster) Freeze(ctx context.Context, components ...Component) error {
	if len(components) == 0 {
		components = []Component{APIServer, Etcd}
	}
	return c.signal(ctx, syscall.SIGSTOP, process.Stopped, components)
}

// Thaw resumes frozen components. No names mean all.
func (c *Cluster) Thaw(ctx context.Context, components ...Component) error {
	if len(components) == 0 {
		components = c.spec.components()
	}
	return c.signal(ctx, syscall.SIGCONT, process.Running, components)
}

func (c *Cluster) signal(ctx context.Context, signal syscall.Signal, want process.State, components []Component) error {
	var failed []error
	for _, component := range components {
		id := c.process(component)
		err := id.Signal(signal)
		if err == nil {
			err = id.Await(ctx, want, process.Gone)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("sending %s of %q %s: %w", component, c.spec.Name, signal, err))
		}
	}
	return errors.Join(failed...)
}

// Restart resumes frozen components, starts those that are gone, with their data, and
// returns when the API server is ready. It leaves a running cluster unchanged. Restart
// after Kill is a restart.
func (c *Cluster) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.Thaw(ctx); err != nil {
		return err
	}
	if err := c.startMissing(ctx); err != nil {
		return fmt.Errorf("restarting cluster %q: %w", c.spec.Name, err)
	}
	return nil
}

// SetNoSpace raises or clears the alarm that etcd raises when its quota is used up: meanwhile
// it refuses all writes, and answers reads.
func (c *Cluster) SetNoSpace(ctx context.Context, full bool) error {
	action := "DEACTIVATE"
	if full {
		action = "ACTIVATE"
	}
	// The member of a fleet's etcd is found by its own answer.
	const status, alarm = "/v3/maintenance/status", "/v3/maintenance/alarm"
	var member struct {
		Header struct {
			MemberID string `json:"member_id"`
		} `json:"header"`
	}
	if err := c.askEtcd(ctx, status, struct{}{}, &member); err != nil {
		return err
	}
	return c.askEtcd(ctx, alarm, map[string]string{"action": action, "alarm": "NOSPACE", "memberID": member.Header.MemberID}, nil)
}

// Stored returns what etcd stores below a prefix of keys that ends with a slash, by key. Objects of custom resources
// are in JSON, in the version in which they were written last.
func (c *Cluster) Stored(ctx context.Context, prefix string) (map[string][]byte, error) {
	type pair struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}
	var found struct {
		Pairs []pair `json:"kvs"`
	}
	end := strings.TrimSuffix(prefix, "/") + "0" // The character behind the slash.
	err := c.askEtcd(ctx, "/v3/kv/range", map[string][]byte{"key": []byte(prefix), "range_end": []byte(end)}, &found)
	stored := make(map[string][]byte, len(found.Pairs))
	for _, each := range found.Pairs {
		stored[string(each.Key)] = each.Value
	}
	return stored, err
}

// askEtcd sends a request to the JSON gateway of etcd, and decodes the response into out, if any.
func (c *Cluster) askEtcd(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encoding a request to etcd: %w", err)
	}
	c.mu.Lock()
	url := c.etcdURL() + path
	c.mu.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making a request to etcd: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking etcd of %q: %w", c.spec.Name, err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading from etcd of %q: %w", c.spec.Name, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("asking etcd of %q for %s: %w: %s", c.spec.Name, path, errRefused, raw)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("decoding a response of etcd: %w", err)
	}
	return nil
}

var errRefused = errors.New("it refuses")

// Health is the state of the components.
type Health string

// The states of a cluster. Partly means that some component is gone.
const (
	Running Health = "running"
	Frozen  Health = "frozen"
	Partly  Health = "partly running"
	Dead    Health = "dead"
)

// Health returns the state of the cluster's processes, without a request to the API
// server.
func (c *Cluster) Health() Health {
	components := c.spec.components()
	states := make([]process.State, 0, len(components))
	for _, component := range components {
		states = append(states, c.process(component).State())
	}
	gone := 0
	for _, state := range states {
		if state == process.Gone {
			gone++
		}
	}
	switch {
	case gone == len(states):
		return Dead
	case slices.Contains(states, process.Stopped):
		return Frozen
	case gone > 0:
		return Partly
	}
	return Running
}
