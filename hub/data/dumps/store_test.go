package dumps

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	sum    = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	prefix = "shopfleet/hub-1/app-1/shop-eu-1-20260302-0200-fee858c0"
	gib    = int64(order.PartBytes)
)

func now() time.Time { return time.Date(2026, 3, 2, 2, 5, 0, 0, time.UTC) }

// dumpStore is a bucket that records the sizes of most objects instead of their contents.
type dumpStore struct {
	sizes map[string]int64
	texts map[string][]byte
	// refuses maps prefixes of requests, for example "DELETE shopfleet/", to errors.
	refuses map[string]error
	// life is the lifetime of signed requests, if it differs from the requested one.
	life time.Duration
	log  []string
}

// newDumpStore returns a store with parts of these sizes, by number.
func newDumpStore(parts map[int]int64) *dumpStore {
	s := &dumpStore{sizes: map[string]int64{}, texts: map[string][]byte{}, refuses: map[string]error{}}
	for i, size := range parts {
		s.sizes[PartKey(prefix, i)] = size
	}
	return s
}

// refusing makes requests with this prefix fail with an error of a class.
func (s *dumpStore) refusing(begin string, class cloud.Class) *dumpStore {
	s.refuses[begin] = &cloud.Error{Class: class}
	return s
}

func (s *dumpStore) asked(op, key string) error {
	s.log = append(s.log, op+" "+strings.TrimPrefix(key, prefix+"/"))
	for begin, err := range s.refuses {
		if strings.HasPrefix(op+" "+key, begin) {
			return err
		}
	}
	return nil
}

func (s *dumpStore) SignRequests(_ context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	if err := cloud.CheckRequests(wanted, life); err != nil {
		return nil, err
	}
	if s.life > 0 {
		life = s.life
	}
	var out []cloud.SignedRequest
	for _, w := range wanted {
		if err := s.asked("SIGN", w.Key); err != nil {
			return nil, err
		}
		out = append(out, cloud.SignedRequest{Method: w.Method, URL: "https://b.example.com/" + w.Key, Header: map[string]string{"X": w.Method}, ExpiresAt: now().Add(life)})
	}
	return out, nil
}

func (s *dumpStore) PutObject(_ context.Context, key string, content []byte) error {
	if err := s.asked("PUT", key); err != nil {
		return err
	}
	if old, there := s.texts[key]; there && string(old) != string(content) {
		return &cloud.Error{Class: cloud.ClassConflict}
	}
	s.texts[key], s.sizes[key] = content, int64(len(content))
	return nil
}

func (s *dumpStore) GetObject(_ context.Context, key string, limit int64) ([]byte, error) {
	if err := s.asked("GET", key); err != nil {
		return nil, err
	}
	text, there := s.texts[key]
	switch {
	case !there:
		return nil, &cloud.Error{Class: cloud.ClassNotFound}
	case int64(len(text)) > limit:
		return nil, &cloud.Error{Class: cloud.ClassInvalid}
	}
	return text, nil
}

func (s *dumpStore) ListObjects(_ context.Context, prefix string) iter.Seq2[cloud.Object, error] {
	return func(yield func(cloud.Object, error) bool) {
		for i, key := range slices.Sorted(maps.Keys(s.sizes)) {
			if !strings.HasPrefix(key, prefix) {
				continue
			}
			if err := s.refuses["LIST "+key]; err != nil {
				yield(cloud.Object{}, err)
				return
			}
			if !yield(cloud.Object{Key: key, Bytes: s.sizes[key], ModifiedAt: now().Add(time.Duration(i)*time.Minute + time.Millisecond)}, nil) {
				return
			}
		}
	}
}

func (s *dumpStore) DeleteObject(_ context.Context, key string) error {
	if err := s.asked("DELETE", key); err != nil {
		return err
	}
	delete(s.sizes, key)
	delete(s.texts, key)
	return nil
}

// newBackup returns a Backup with a dump of this size.
func newBackup(bytes int64) *v1.Backup {
	at := func(minute int) *metav1.Time {
		return &metav1.Time{Time: time.Date(2026, 3, 2, 2, minute, 0, 0, time.UTC)}
	}
	return &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop-eu-1-20260302-0200", UID: "backup-1"},
		Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupDump, ScheduledTime: at(0)},
		Status: v1.BackupStatus{
			AppUID: "app-1", Provider: v1.ProviderOther, Region: "berlin", Engine: v1.EnginePostgreSQL, Version: "15.4", SnapshotTime: at(1), DeleteLockDays: 7,
			Dump: &v1.DumpFile{
				Claim: "shop-database-backup", Job: "shop-database-backup-29540280", File: "backup-20260302T020100Z.dump",
				Bytes: bytes, SHA256: sum, Object: &v1.DumpObject{Bucket: "dumps", Prefix: prefix},
			},
		},
	}
}
