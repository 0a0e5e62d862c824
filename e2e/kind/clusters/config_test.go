package clusters

import (
	"fmt"
	"net/netip"
	"testing"
)

// TestConfigListensOnLoopback checks all that a cluster opens on this machine. The
// containers reach each other in a network of their own.
func TestConfigListensOnLoopback(t *testing.T) {
	t.Setenv("KIND_CONFIG", "")
	c := &Cluster{Spec: Spec{Name: "c", Dir: t.TempDir(), Ports: []int32{30080, 30081}}}
	config, err := c.config()
	if err != nil {
		t.Fatal(err)
	}
	listening := map[string]string{"the API server": config.Networking.APIServerAddress}
	for _, node := range config.Nodes {
		for _, port := range node.ExtraPortMappings {
			listening[fmt.Sprintf("port %d of the node", port.ContainerPort)] = port.ListenAddress
		}
	}
	if want := 1 + len(c.Ports); len(listening) != want {
		t.Errorf("got addresses %v, want %d", listening, want)
	}
	for what, address := range listening {
		if parsed, err := netip.ParseAddr(address); err != nil || !parsed.IsLoopback() {
			t.Errorf("%s listens on %q, which is not a loopback address", what, address)
		}
	}
}
