package connection

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/hub/members/record"
)

// TestDamagedRecord: what was read stays known while the ConfigMap cannot be read any more.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	stored := record.Record{Hub: "hub", Epoch: 3, Deleted: []record.Deletion{{App: "deleted", At: time.Unix(1_000_000_000, 0)}, {App: "left", Left: 4, At: time.Unix(1_000_000_000, 0)}}}.Data()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}, Data: stored,
		})
	}))
	t.Cleanup(server.Close)
	configMaps, err := corev1client.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	epoch := &atomic.Int64{}
	epoch.Store(3)
	r := &Record{client: configMaps, epoch: epoch, settings: &Settings{
		HubUID: "hub", Record: client.ObjectKey{Namespace: "n", Name: "record"}, Timeouts: Timeouts{Request: time.Minute}, Clock: clock.RealClock{},
	}}
	if f, err := r.check(t.Context()); f != nil || err != nil {
		t.Fatalf("%+v, %v", f, err)
	}
	stored["epoch"] = "damaged"
	if f, err := r.check(t.Context()); f == nil || err != nil {
		t.Errorf("a damaged record is read with %+v, %v", f, err)
	}
	if r.DeletedAt("deleted").IsZero() || r.Left("left") != 4 {
		t.Error("what was read is forgotten")
	}
}
