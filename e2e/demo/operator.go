package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

const (
	operatorState  = "hub-operator.json"
	operatorConfig = "hub-operator.kubeconfig"
	operatorLog    = "hub-operator.log"

	// tokenTTL is for how long the demo can be left running.
	tokenTTL = 8760 * time.Hour
	// startTimeout and stopTimeout bound the hub's start and its orderly end.
	startTimeout = time.Minute
	stopTimeout  = 20 * time.Second
	interval     = 50 * time.Millisecond
)

// operator is the hub's process, as the state file has it.
type operator struct {
	PID int `json:"pid"`
	// Made is a hash of the binary and of the hub's kubeconfig: another one of either
	// needs another process.
	Made    string `json:"made"`
	Metrics string `json:"metrics"`
	Health  string `json:"health"`
}

// ensureOperator starts the hub, unless the right one runs already.
func (d *demo) ensureOperator(ctx context.Context) error {
	made, err := d.fingerprint()
	if err != nil {
		return err
	}
	running, err := d.loadOperator()
	if err != nil {
		return err
	}
	if running != nil && running.Made == made && d.alive(ctx, running.PID) && healthy(ctx, running.Health) {
		return nil
	}
	if err := d.stopOperator(ctx); err != nil {
		return err
	}
	if err := d.writeOperatorConfig(ctx); err != nil {
		return err
	}
	return d.startOperator(ctx, made)
}

// fingerprint hashes what the hub's process is made from.
func (d *demo) fingerprint() (string, error) {
	sum := sha256.New()
	for _, path := range []string{d.path("bin", "hub"), d.path("hub", "kubeconfig")} {
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading what the hub is made from: %w", err)
		}
		_, _ = sum.Write(raw)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// writeOperatorConfig writes a kubeconfig with a token of the hub's ServiceAccount.
func (d *demo) writeOperatorConfig(ctx context.Context) error {
	admin, hub, err := d.hubClient()
	if err != nil {
		return err
	}
	at, err := join.EndpointOf(admin, "")
	if err != nil {
		return err
	}
	token, err := join.Member{Config: admin, Client: hub}.Mint(ctx, tokenTTL)
	if err != nil {
		return err
	}
	raw, err := at.Kubeconfig("hub", token)
	if err != nil {
		return err
	}
	file, err := clientcmd.Load(raw)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the hub: %w", err)
	}
	if err := clientcmd.WriteToFile(*file, d.path(operatorConfig)); err != nil {
		return fmt.Errorf("writing the kubeconfig of the hub: %w", err)
	}
	return nil
}

// startOperator starts the hub in a session of its own, so that it outlives this
// process and its terminal, and waits until it is ready.
func (d *demo) startOperator(ctx context.Context, made string) error {
	o := &operator{Made: made}
	var err error
	if o.Metrics, err = freeAddress(ctx); err != nil {
		return err
	}
	if o.Health, err = freeAddress(ctx); err != nil {
		return err
	}
	log, err := os.OpenFile(d.path(operatorLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of the hub: %w", err)
	}
	defer func() { _ = log.Close() }()
	// The end of this run must not end it, hence no context.
	cmd := &exec.Cmd{
		Path: d.path("bin", "hub"),
		Args: []string{
			d.path("bin", "hub"), "--kubeconfig", d.path(operatorConfig),
			// Plain, so that whoever plays with the demo needs no token: nobody else reaches it.
			"--metrics-bind-address", o.Metrics, "--metrics-secure=false", "--health-probe-bind-address", o.Health,
		},
		Dir: d.root, Stdout: log, Stderr: log, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the hub: %w", err)
	}
	o.PID = cmd.Process.Pid
	if err := d.saveOperator(o); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("the hub ended at once (%w); its log ends with:\n%s", errors.Join(err), d.logTail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for the hub to be ready: %w; its log ends with:\n%s", context.Cause(ctx), d.logTail())
		case <-ticker.C:
			if healthy(ctx, o.Health) {
				return nil
			}
		}
	}
}

// healthy asks the hub whether it is ready.
func healthy(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// freeAddress returns an address on this machine that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// stopOperator ends the hub, if one of ours runs.
func (d *demo) stopOperator(ctx context.Context) error {
	o, err := d.loadOperator()
	if err != nil || o == nil {
		return err
	}
	asked := false
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for d.alive(ctx, o.PID) {
		process, err := os.FindProcess(o.PID)
		if err == nil && !asked {
			err = process.Signal(syscall.SIGTERM)
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stopping the hub: %w", err)
		}
		asked = true
		select {
		case <-ctx.Done():
			// Still the process that was asked to end: its number cannot have been given away.
			if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("killing the hub: %w", err)
			}
			return os.Remove(d.path(operatorState))
		case <-ticker.C:
		}
	}
	return os.Remove(d.path(operatorState))
}

// alive tells whether the number is still that of our hub, and not of a later
// process, by the path of its program.
func (d *demo) alive(ctx context.Context, pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if errors.Is(err, fs.ErrNotExist) {
		// Not Linux, or gone: ps knows.
		raw, err = exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	}
	return err == nil && strings.HasPrefix(string(raw), d.path("bin", "hub"))
}

func (d *demo) loadOperator() (*operator, error) {
	raw, err := os.ReadFile(d.path(operatorState))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	o := &operator{}
	if err == nil {
		err = json.Unmarshal(raw, o)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of the hub: %w", err)
	}
	return o, nil
}

func (d *demo) saveOperator(o *operator) error {
	raw, err := json.MarshalIndent(o, "", "  ")
	if err == nil {
		err = os.WriteFile(d.path(operatorState), raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("saving the state of the hub: %w", err)
	}
	return nil
}

// logTail returns the end of the hub's log.
func (d *demo) logTail() string {
	raw, err := os.ReadFile(d.path(operatorLog))
	if err != nil {
		return "  " + err.Error()
	}
	return tail(string(raw))
}
