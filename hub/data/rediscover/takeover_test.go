package rediscover

import (
	"context"
	"maps"
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
			a := s.edit(t, func(a *v1.CloudAccount) {
				maps.Copy(a.Annotations, tt.annotations)
				if !tt.noBucket {
					a.Spec.ObjectStorage = &v1.ObjectStorage{Bucket: "dumps"}
				}
			})
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

// TestBackupsOfAFormerHub checks that the snapshots and the dumps of the hub that is asked for are found with it, and those of no
// other one: a hub that was made anew has another UID than the one that made the backups.
func TestBackupsOfAFormerHub(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{"": "hub", "hub": "hub", "former": "former"} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			s, store := newSearched(t, v1.ProviderAWS), newStore()
			var all []cloud.Snapshot
			for _, of := range []string{"hub", "former"} {
				all = append(all, snapshot(func(s *cloud.Snapshot) { s.Tags[cloud.TagHub], s.Tags[cloud.TagBackup] = of, "snapshot-"+of }))
				stored(t, store, func(b *v1.Backup) { b.Status.HubUID, b.Name = of, "dump-"+of })
			}
			s.regions["eu-west-1"] = regionalCloud{snapshots: all}
			a := s.edit(t, func(a *v1.CloudAccount) {
				a.Annotations[v1.RediscoverHubAnnotation], a.Spec.ObjectStorage = asked, &v1.ObjectStorage{Bucket: "dumps"}
			})
			s.withBucket(store, a.Spec, false)
			if got, handled := s.pass(t); got != "2 backups rediscovered, 0 already known" || !handled {
				t.Errorf("handled %t: %q", handled, got)
			}
			if diff := cmp.Diff(map[string]string{"snapshot-" + want: want, "dump-" + want: want}, s.hubs(t)); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

// edit changes the account.
func (s *searched) edit(t *testing.T, change func(*v1.CloudAccount)) *v1.CloudAccount {
	t.Helper()
	a := &v1.CloudAccount{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "prod"}, a); err != nil {
		t.Fatal(err)
	}
	change(a)
	if err := s.client.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return a
}

// hubs returns the hub of each Backup that there is.
func (s *searched) hubs(t *testing.T) map[string]string {
	t.Helper()
	list, found := &v1.BackupList{}, map[string]string{}
	if err := s.client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		found[list.Items[i].Name] = list.Items[i].Status.HubUID
	}
	return found
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
