package spoke_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testLostCredentials deletes the password that the data was made with: no other
// one is drawn, the shop says so, and goes on when the password is back.
func testLostCredentials(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database-credentials"}}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
			t.Fatal(err)
		}
		saved := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name, Labels: secret.Labels},
			Data:       secret.Data,
		}
		if err := w.Delete(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		w.awaitFailed(t, app, v1.ReasonCredentialsMissing, secret.Name, "data-"+app.Name+"-database-0")
		framework.Create(t, w, saved)
		w.awaitRunning(t, app)
	}
}
