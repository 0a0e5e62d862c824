package members

import (
	"net/url"

	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// noteHost notes the host that requests with the target's kubeconfig are counted for.
func (l *loop) noteHost() {
	if l.access == nil {
		return
	}
	if server, err := url.Parse(l.access.Config.Host); err == nil {
		l.hosts[server.Host] = true
	}
}

// deleteSeries deletes the series of requests to the addresses that the member has had.
func (l *loop) deleteSeries() {
	for host := range l.hosts {
		controller.DeleteHostSeries(host)
	}
}
