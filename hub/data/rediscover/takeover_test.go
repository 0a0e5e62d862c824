package rediscover

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// TestTakeOver checks that the backups of a former hub are claimed in the bucket if that is asked for, and that an account
// without a bucket says that it cannot.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	const found = "0 backups rediscovered, 0 already known"
	for name, tt := range map[string]struct {
		annotations map[string]string
		noBucket    bool
		safeMode    bool
		keys        []string
		summary     string
		handled     bool
	}{
		"taken over": {
			annotations: map[string]string{v1.RediscoverHubAnnotation: "former", v1.TakeOverHubAnnotation: "former"},
			keys:        []string{"shopfleet/former/claims/hub.json"}, summary: found, handled: true,
		},
		"found alone":      {annotations: map[string]string{v1.RediscoverHubAnnotation: "former"}, summary: found, handled: true},
		"another is found": {annotations: map[string]string{v1.RediscoverHubAnnotation: "former", v1.TakeOverHubAnnotation: "other"}, summary: found, handled: true},
		"this one":         {annotations: map[string]string{v1.RediscoverHubAnnotation: "hub", v1.TakeOverHubAnnotation: "hub"}, summary: found, handled: true},
		"not the UID of one": {
			annotations: map[string]string{v1.RediscoverHubAnnotation: "a/b", v1.TakeOverHubAnnotation: "a/b"},
			summary:     found + `; taking over the backups: "a/b" is not the UID of a hub`, handled: true,
		},
		"no bucket": {
			annotations: map[string]string{v1.RediscoverHubAnnotation: "former", v1.TakeOverHubAnnotation: "former"}, noBucket: true,
			summary: found + "; the backups are not taken over, since the CloudAccount has no bucket to claim them in", handled: true,
		},
		"safe mode": {
			annotations: map[string]string{v1.RediscoverHubAnnotation: "former", v1.TakeOverHubAnnotation: "former"}, safeMode: true,
			summary: found + "; taking over the backups: the hub runs in safe mode and changes nothing in clouds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, store := newSearched(t, v1.ProviderAWS), newStore()
			a := &v1.CloudAccount{}
			if err := s.client.Get(t.Context(), client.ObjectKey{Name: "prod"}, a); err != nil {
				t.Fatal(err)
			}
			tt.annotations[v1.RediscoverAtAnnotation], a.Annotations = "now", tt.annotations
			if !tt.noBucket {
				a.Spec.ObjectStorage = &v1.ObjectStorage{Bucket: "dumps"}
			}
			if err := s.client.Update(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			s.withBucket(store, a.Spec, tt.safeMode)
			if got, handled := s.pass(t); got != tt.summary || handled != tt.handled {
				t.Errorf("handled %t: %q, want %q", handled, got, tt.summary)
			}
			if diff := cmp.Diff(tt.keys, store.Keys()); diff != "" {
				t.Errorf("in the bucket (-want +got):\n%s", diff)
			}
		})
	}
}

// withBucket gives the account a bucket, if its spec has one.
func (s *searched) withBucket(store *bucket.Store, spec v1.CloudAccountSpec, safeMode bool) {
	all := accounts.New(accounts.Options{
		Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, config cloud.Config) (cloud.Session, error) {
			return cloud.Session{Snapshots: listing{of: s, region: config.Region}}, nil
		}},
		Buckets: cloud.Buckets{v1.ProviderAWS: func(context.Context, cloud.Config) (cloud.ObjectStore, error) {
			return bucket.Connect(store, bucket.Options{}), nil
		}},
		SafeMode: safeMode,
	})
	all.Set("prod", spec, nil)
	s.options.Accounts = all
}
