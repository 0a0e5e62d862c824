package objectstore_test

import (
	"testing"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
)

// TestContract puts the contract to the real SDK in front of the fake S3, under its own
// name and with versions.
func TestContract(t *testing.T) {
	t.Parallel()
	m := loadModel(t)
	objectstore.Run(t, func(t testing.TB) *objectstore.Backend {
		t.Helper()
		e := newTestEnv(t)
		e.store.KeepVersions()
		return e.backend(m)
	})
}

// TestContractEndpoint runs TestContract with the bucket in the path, and without versions.
func TestContractEndpoint(t *testing.T) {
	t.Parallel()
	m := loadModel(t)
	objectstore.Run(t, func(t testing.TB) *objectstore.Backend {
		t.Helper()
		e := newTestEnv(t)
		e.endpoint = endpoint
		b := e.backend(m)
		b.DeletionRequests = 2
		return b
	})
}
