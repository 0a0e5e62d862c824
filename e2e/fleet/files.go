package fleet

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/kwokstages"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/pki"
)

// The files of a cluster, below its folder.
const (
	fileAuthority   = "ca.crt"
	fileSigningKey  = "serviceaccounts.key"
	fileServer      = "kube-apiserver"
	fileAdmin       = "kubeconfig"
	fileAudit       = "audit.log"
	fileAuditPolicy = "audit-policy.yaml"
	fileStages      = "kwok-stages.yaml"
	folderEtcd      = "etcd"

	extensionCertificate = ".crt"
	extensionKey         = ".key"
	extensionKubeconfig  = ".kubeconfig"

	privateFile   = 0o600
	privateFolder = 0o700

	administrators = "system:masters"
	administrator  = "fleet-admin"
)

//go:embed audit-policy.yaml
var auditPolicy string

func (c *Cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *Cluster) kubeconfig(component Component) string {
	return c.path(string(component) + extensionKubeconfig)
}

// client is one identity that talks to the API server.
type client struct {
	subject pki.Subject
	file    string
}

func (c *Cluster) clients() []client {
	return []client{
		{file: c.path(fileAdmin), subject: pki.Subject{User: administrator, Groups: []string{administrators}}},
		{file: c.kubeconfig(ControllerManager), subject: pki.Subject{User: "system:kube-controller-manager"}},
		{file: c.kubeconfig(Scheduler), subject: pki.Subject{User: "system:kube-scheduler"}},
		// The simulator plays all kubelets at once and the storage driver: no role
		// that the API server brings along covers that.
		{file: c.kubeconfig(Kwok), subject: pki.Subject{User: "kwok", Groups: []string{administrators}}},
	}
}

// writeFiles makes everything that the components read, for the current ports.
func (c *Cluster) writeFiles() error {
	if err := os.MkdirAll(c.dir, privateFolder); err != nil {
		return fmt.Errorf("creating the cluster's folder: %w", err)
	}
	authority, err := pki.NewAuthority("shopfleet " + c.spec.Name)
	if err != nil {
		return err
	}
	server, err := authority.Issue(pki.Subject{User: fileServer, Hosts: []string{
		loopback, "localhost", serviceAddress, "kubernetes", "kubernetes.default", "kubernetes.default.svc",
	}})
	if err != nil {
		return err
	}
	signing, err := pki.SigningKey()
	if err != nil {
		return err
	}
	content := map[string][]byte{
		c.path(fileAuthority):                     authority.Certificate(),
		c.path(fileSigningKey):                    signing,
		c.path(fileServer + extensionCertificate): server.Certificate,
		c.path(fileServer + extensionKey):         server.Key,
		c.path(fileAuditPolicy):                   []byte(auditPolicy),
	}
	for _, each := range c.clients() {
		pair, err := authority.Issue(each.subject)
		if err != nil {
			return err
		}
		content[each.file], err = pki.Kubeconfig{
			Cluster:   c.spec.Name,
			User:      each.subject.User,
			Server:    c.Server(),
			Authority: authority.Certificate(),
			Client:    pair,
		}.Encode()
		if err != nil {
			return err
		}
	}
	// The marker comes first: clearData must know a folder again whose making was
	// cut off.
	stages := kwokstages.YAML(kwokstages.Left{Driver: c.spec.Driverless, Jobs: c.spec.JobsByHand})
	if err := os.WriteFile(c.path(fileStages), stages, privateFile); err != nil {
		return fmt.Errorf("writing the stages: %w", err)
	}
	for file, raw := range content {
		if err := os.WriteFile(file, raw, privateFile); err != nil {
			return fmt.Errorf("writing %q: %w", filepath.Base(file), err)
		}
	}
	return nil
}

// clearData deletes the data of an earlier fleet in the folder, which does not match the
// new certificates. It leaves folders that no fleet created.
func (c *Cluster) clearData() error {
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking into the cluster's folder: %w", err)
	}
	if _, err := os.Stat(c.path(fileStages)); err != nil && len(entries) > 0 {
		return fmt.Errorf("folder %q is in use, and not by a cluster: %w", c.dir, err)
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("clearing the cluster's folder: %w", err)
	}
	return nil
}
