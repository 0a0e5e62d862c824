package binaries

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
	kwokModule       = "sigs.k8s.io/kwok"

	provisionerModule = "github.com/kubernetes-csi/external-provisioner/v6"
	snapshotterModule = "github.com/kubernetes-csi/external-snapshotter/v8"
	definitionsModule = "github.com/kubernetes-csi/external-snapshotter/client/v8"
	sanityModule      = "github.com/kubernetes-csi/csi-test/v5"
)

// set describes programs that are built together from the versions that one module pins.
type set struct {
	// folder is that of the module in the repository.
	folder string
	// modules lists what the module must require; the version of the first one names the folder in the cache.
	modules  []string
	programs []program
}

func controlPlane() set {
	const commands = kubernetesModule + "/cmd/"
	return set{
		folder: "e2e/fleet/controlplane", modules: []string{kubernetesModule, etcdModule, kwokModule},
		programs: []program{
			{name: Etcd, source: etcdModule, output: "server"},
			{name: APIServer, source: commands + APIServer},
			{name: ControllerManager, source: commands + ControllerManager},
			{name: Scheduler, source: commands + Scheduler},
			{name: Kubectl, source: commands + Kubectl},
			{name: Kwok, source: kwokModule + "/cmd/" + Kwok},
		},
	}
}

func csiTools() set {
	return set{
		folder: "e2e/fleet/csi/tools", modules: []string{snapshotterModule, provisionerModule, definitionsModule, sanityModule},
		programs: []program{
			{name: SnapshotController, source: snapshotterModule + "/cmd/" + SnapshotController},
			{name: Snapshotter, source: snapshotterModule + "/cmd/" + Snapshotter},
			{name: Provisioner, source: provisionerModule + "/cmd/" + Provisioner},
			{name: Sanity, source: sanityModule + "/cmd/" + Sanity},
		},
	}
}
