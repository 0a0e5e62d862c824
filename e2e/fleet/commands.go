package fleet

import (
	"strconv"
	"time"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

const (
	loopback = "127.0.0.1"
	// serviceRange holds the addresses of Services; its first is the API server's. It
	// is loopback because the API server dials the Services of webhooks and of
	// aggregated APIs.
	serviceRange   = "127.96.0.0/16"
	serviceAddress = "127.96.0.1"

	// nodeGrace is the node controller's grace period: infinite, because simulated nodes
	// send no heartbeats.
	nodeGrace       = 10 * 365 * 24 * time.Hour
	controllerQPS   = 200
	auditMegabytes  = 4096
	controllerBurst = 400
)

// ports are the two that a cluster listens on.
type ports struct {
	Etcd      int `json:"etcd"`
	APIServer int `json:"apiServer"`
}

// command returns how to run the component.
func (c *Cluster) command(component Component) process.Command {
	arguments := map[Component]func() []string{
		Etcd:              c.etcdArguments,
		APIServer:         c.apiServerArguments,
		ControllerManager: c.controllerManagerArguments,
		Scheduler:         c.schedulerArguments,
		Kwok:              c.kwokArguments,
	}
	return process.Command{
		Path: c.programs.Path(string(component)),
		Args: arguments[component](),
		Dir:  c.dir,
		Log:  c.LogFile(component),
		Tied: c.tied,
	}
}

func (c *Cluster) etcdURL() string {
	return "http://" + loopback + ":" + strconv.Itoa(c.ports.Etcd)
}

// Server returns the address of the API server.
func (c *Cluster) Server() string {
	return "https://" + loopback + ":" + strconv.Itoa(c.ports.APIServer)
}

func (c *Cluster) etcdArguments() []string {
	// There are no peers, but etcd insists on an address for them: any port will do.
	const peers = "http://" + loopback + ":0"
	return []string{
		"--name=default",
		"--data-dir=" + c.path(folderEtcd),
		"--listen-client-urls=" + c.etcdURL(),
		"--advertise-client-urls=" + c.etcdURL(),
		"--listen-peer-urls=" + peers,
		"--initial-advertise-peer-urls=" + peers,
		"--initial-cluster=default=" + peers,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func (c *Cluster) apiServerArguments() []string {
	return []string{
		"--etcd-servers=" + c.etcdURL(),
		"--bind-address=" + loopback,
		// The default is the address of a network interface.
		"--advertise-address=" + loopback,
		"--secure-port=" + strconv.Itoa(c.ports.APIServer),
		"--tls-cert-file=" + c.path(fileServer+extensionCertificate),
		"--tls-private-key-file=" + c.path(fileServer+extensionKey),
		"--client-ca-file=" + c.path(fileAuthority),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.path(fileSigningKey),
		"--service-account-signing-key-file=" + c.path(fileSigningKey),
		"--service-cluster-ip-range=" + serviceRange,
		// The default reconciler refuses to publish a loopback address, and nothing
		// runs in the cluster that could use it.
		"--endpoint-reconciler-type=none",
		// The default looks up the host names of nodes, which belong to a cloud.
		"--kubelet-preferred-address-types=InternalIP",
		"--allow-privileged=true",
		"--profiling=false",
		"--audit-policy-file=" + c.path(fileAuditPolicy),
		"--audit-log-path=" + c.path(fileAudit),
		// Never rotated: a test reads the log from its start.
		"--audit-log-maxsize=" + strconv.Itoa(auditMegabytes),
		"--watch-cache=" + strconv.FormatBool(!c.spec.NoWatchCache),
	}
}

func (c *Cluster) controllerManagerArguments() []string {
	return []string{
		"--kubeconfig=" + c.kubeconfig(ControllerManager),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + c.path(fileSigningKey),
		"--root-ca-file=" + c.path(fileAuthority),
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--node-monitor-grace-period=" + nodeGrace.String(),
		"--kube-api-qps=" + strconv.Itoa(controllerQPS),
		"--kube-api-burst=" + strconv.Itoa(controllerBurst),
		// The default is a folder of the machine, which it would create.
		"--flex-volume-plugin-dir=" + c.path("flexvolume"),
	}
}

func (c *Cluster) schedulerArguments() []string {
	return []string{
		"--kubeconfig=" + c.kubeconfig(Scheduler),
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--kube-api-qps=" + strconv.Itoa(controllerQPS),
		"--kube-api-burst=" + strconv.Itoa(controllerBurst),
	}
}

func (c *Cluster) kwokArguments() []string {
	return []string{
		"--kubeconfig=" + c.kubeconfig(Kwok),
		"--config=" + c.path(fileStages),
		"--manage-all-nodes=true",
		// No leases: KWOK leaves pods alone for good that it hears of before it has
		// read back the lease that it took.
		"--node-lease-duration-seconds=0",
	}
}
