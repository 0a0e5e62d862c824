package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// bucketTest holds the provider's answer to a list request and the expected condition.
type bucketTest struct {
	provider v1.Provider
	err      error
	status   metav1.ConditionStatus
	reason   string
	message  string
}

func bucketTests() map[string]bucketTest {
	untrusted := fmt.Errorf("listing: %w", &cloud.Error{
		Class: cloud.ClassTransient, Err: &tls.CertificateVerificationError{Err: errors.New("who are you")},
	})
	return map[string]bucketTest{
		"listed": {v1.ProviderAWS, nil, metav1.ConditionTrue, v1.ReasonVerified,
			`The hub can list bucket "dumps"; write access is not verified before the first dump`},
		"not there": {v1.ProviderAWS, of(cloud.ClassNotFound, "NoSuchBucket"), metav1.ConditionFalse, v1.ReasonBucketNotFound,
			`bucket "dumps" does not exist: NoSuchBucket: create it, or correct spec.objectStorage`},
		"refused by S3": {v1.ProviderAWS, of(cloud.ClassDenied, "AccessDenied"), metav1.ConditionFalse, v1.ReasonForbidden,
			`the identity is not allowed to list bucket "dumps": AccessDenied: grant it s3:ListBucket and s3:ListBucketVersions there, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:DeleteObjectVersion below its prefix`},
		"refused by Cloud Storage": {v1.ProviderGCP, of(cloud.ClassDenied, ""), metav1.ConditionFalse, v1.ReasonForbidden,
			`the identity is not allowed to list bucket "dumps": grant it storage.objects.list, get, create and delete there`},
		"refused by Azure": {v1.ProviderAzure, of(cloud.ClassDenied, ""), metav1.ConditionFalse, v1.ReasonForbidden,
			`the identity is not allowed to list bucket "dumps": grant it the roles Storage Blob Data Contributor there and Storage Blob Delegator in the storage account`},
		"another key": {v1.ProviderAWS, of(cloud.ClassAuthExpired, "InvalidAccessKeyId"), metav1.ConditionFalse, v1.ReasonUnauthorized,
			`bucket "dumps" rejects the credentials: InvalidAccessKeyId`},
		"spec":      {v1.ProviderAWS, of(cloud.ClassInvalid, ""), metav1.ConditionFalse, v1.ReasonInvalidSpec, "said so"},
		"not built": {v1.ProviderAWS, of(cloud.ClassUnsupported, ""), metav1.ConditionFalse, v1.ReasonInvalidSpec, "said so"},
		"held":      {v1.ProviderAWS, of(cloud.ClassLocked, "Held"), metav1.ConditionFalse, v1.ReasonCloudRefused, `the provider denies listing bucket "dumps": Held`},
		"untrusted": {v1.ProviderAWS, untrusted, metav1.ConditionFalse, v1.ReasonInvalidSpec,
			`the certificate of the endpoint of bucket "dumps" is not trusted: set spec.objectStorage.caBundle to the authority that signed it`},
		"throttled": {v1.ProviderAWS, of(cloud.ClassThrottled, ""), metav1.ConditionUnknown, v1.ReasonThrottled, "the provider throttles requests"},
		"down": {v1.ProviderAWS, of(cloud.ClassTransient, ""), metav1.ConditionUnknown, v1.ReasonCloudUnavailable,
			`the endpoint of bucket "dumps" does not answer; check spec.objectStorage.endpoint if it never did`},
		"no answer at all": {v1.ProviderAWS, errors.New("no class"), metav1.ConditionUnknown, v1.ReasonCloudUnavailable,
			`the endpoint of bucket "dumps" does not answer; check spec.objectStorage.endpoint if it never did`},
	}
}

// TestABucketIsNoFaultOfItsAccount checks that the account is Ready whatever its bucket is, and that the remedy is in
// the condition and, unless the problem ends by itself, in what kubectl prints.
func TestABucketIsNoFaultOfItsAccount(t *testing.T) {
	t.Parallel()
	for name, tt := range bucketTests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := facts{account: account(), now: noon(), identity: cloud.Identity{Name: "me"}, bucketErr: tt.err}
			f.account.Spec.Provider, f.account.Spec.ObjectStorage = tt.provider, &v1.ObjectStorage{Bucket: "dumps"}
			next := decide(f)
			want := &metav1.Condition{
				Type: v1.ConditionObjectStorageReady, Status: tt.status, Reason: tt.reason, Message: tt.message,
				ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(noon()),
			}
			if diff := cmp.Diff(want, meta.FindStatusCondition(next.Conditions, v1.ConditionObjectStorageReady)); diff != "" {
				t.Errorf("bucket (-want +got):\n%s", diff)
			}
			printed := "The hub is authenticated as me"
			if tt.status == metav1.ConditionFalse {
				printed += "; dumps are not sent: " + tt.message
			}
			ready := meta.FindStatusCondition(next.Conditions, v1.ConditionReady)
			if ready.Status != metav1.ConditionTrue || ready.Reason != v1.ReasonVerified || ready.Message != printed {
				t.Errorf("ready is %s %s: %q, want True Verified: %q", ready.Status, ready.Reason, ready.Message, printed)
			}
			if nextVerification := f.nextVerification(next); (nextVerification == verifyPeriod) != (tt.err == nil) {
				t.Errorf("asked nextVerification after %s", nextVerification)
			}
			f.account.Status, f.now = next, noon().Add(time.Minute)
			if diff := cmp.Diff(next, decide(f)); diff != "" {
				t.Errorf("a minute later the same is not the same (-first +second):\n%s", diff)
			}
		})
	}
}

// TestAnOutageOfABucketIsNoFault checks that a bucket keeps its condition for an hour, and no longer, and that one
// that is no longer configured is not reported.
func TestAnOutageOfABucketIsNoFault(t *testing.T) {
	t.Parallel()
	f := facts{account: account(), now: noon(), identity: cloud.Identity{Name: "me"}}
	f.account.Spec.ObjectStorage = &v1.ObjectStorage{Bucket: "dumps"}
	f.account.Status = decide(f)
	bucket := func(f facts) metav1.ConditionStatus {
		if c := meta.FindStatusCondition(decide(f).Conditions, v1.ConditionObjectStorageReady); c != nil {
			return c.Status
		}
		return ""
	}
	down := f
	down.bucketErr, down.now = of(cloud.ClassTransient, ""), noon().Add(59*time.Minute)
	if diff := cmp.Diff(f.account.Status, decide(down)); diff != "" {
		t.Errorf("status (-before +after):\n%s", diff)
	}
	down.now = noon().Add(61 * time.Minute)
	if got := bucket(down); got != metav1.ConditionUnknown {
		t.Errorf("%s on what was true an hour ago", got)
	}
	changed := down
	changed.now, changed.account = noon().Add(time.Minute), f.account.DeepCopy()
	changed.account.Generation++
	if got := bucket(changed); got != metav1.ConditionUnknown {
		t.Errorf("%s on what another spec said", got)
	}
	strange := facts{account: f.account, secretMissing: true, now: noon().Add(time.Minute)}
	if got := bucket(strange); got != metav1.ConditionUnknown {
		t.Errorf("%s without credentials", got)
	}
	both := facts{account: f.account, err: of(cloud.ClassTransient, ""), now: noon().Add(time.Minute), bucketErr: of(cloud.ClassDenied, "")}
	if got := bucket(both); got != metav1.ConditionFalse {
		t.Errorf("%s while the provider is away and the bucket refuses", got)
	}
	changed.account.Spec.ObjectStorage = nil
	if got := bucket(changed); got != "" {
		t.Errorf("%s without a bucket", got)
	}
}

// TestKeysOfAnotherService checks that keys of another service are used for its bucket alone.
func TestKeysOfAnotherService(t *testing.T) {
	t.Parallel()
	const refused = "the provider rejects the credentials: InvalidClientTokenId"
	tests := map[string]struct {
		endpoint         string
		bucket           error
		message          string
		nextVerification time.Duration
	}{
		"a bucket elsewhere":              {"https://s3.example.com", nil, refused + "; the bucket accepts them, so dumps can be uploaded but no snapshots can be taken", verifyPeriod},
		"a bucket elsewhere that refuses": {"https://s3.example.com", of(cloud.ClassAuthExpired, ""), refused, retryPeriod},
		"the provider's bucket":           {"", nil, refused, retryPeriod},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := facts{account: account(), now: noon(), err: of(cloud.ClassAuthExpired, "InvalidClientTokenId"), bucketErr: tt.bucket}
			f.account.Spec.ObjectStorage = &v1.ObjectStorage{Bucket: "dumps", Endpoint: tt.endpoint}
			next := decide(f)
			ready := meta.FindStatusCondition(next.Conditions, v1.ConditionReady)
			if ready.Status != metav1.ConditionFalse || ready.Message != tt.message {
				t.Errorf("ready is %s: %q, want False: %q", ready.Status, ready.Message, tt.message)
			}
			if got := meta.IsStatusConditionTrue(next.Conditions, v1.ConditionObjectStorageReady); got != (tt.bucket == nil) {
				t.Errorf("the bucket is ready: %t", got)
			}
			if got := f.nextVerification(next); got != tt.nextVerification {
				t.Errorf("asked nextVerification after %s, want %s", got, tt.nextVerification)
			}
		})
	}
}

// listing is a bucket with many objects that counts how many of them were requested.
type listing struct {
	cloud.ObjectStore
	prefix string
	read   int
	err    error
}

// ListObjects yields objects without end, or the error.
func (l *listing) ListObjects(ctx context.Context, prefix string) iter.Seq2[cloud.Object, error] {
	l.prefix = prefix
	return func(yield func(cloud.Object, error) bool) {
		for ctx.Err() == nil {
			l.read++
			if !yield(cloud.Object{Key: prefix}, l.err) || l.err != nil {
				return
			}
		}
	}
}

// TestTheBucketIsAskedForOneObject checks that the list is limited to one object: a bucket may hold millions.
func TestTheBucketIsAskedForOneObject(t *testing.T) {
	t.Parallel()
	refused := of(cloud.ClassDenied, "AccessDenied")
	for _, want := range []error{nil, refused} {
		l := &listing{err: want}
		known := accounts.New(accounts.Options{Buckets: cloud.Buckets{
			v1.ProviderAWS: func(context.Context, cloud.Config) (cloud.ObjectStore, error) { return l, nil },
		}})
		known.Set("prod", v1.CloudAccountSpec{Provider: v1.ProviderAWS, ObjectStorage: &v1.ObjectStorage{Bucket: "dumps"}}, nil)
		r := &Reconciler{options: Options{Accounts: known}}
		if err := r.checkBucket(t.Context(), "prod"); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		if l.read != 1 || l.prefix != "shopfleet/" {
			t.Errorf("read %d objects below %q, want one below shopfleet/", l.read, l.prefix)
		}
	}
}

// TestBucketPermissions compares the permissions that a message tells to grant with those that
// cloud/README.md prints.
func TestBucketPermissions(t *testing.T) {
	t.Parallel()
	page, err := iam.Read("../../../../cloud/README.md")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := page.AWSBucket("b", "p")
	if err != nil {
		t.Fatal(err)
	}
	google, err := page.GoogleBucket()
	if err != nil {
		t.Fatal(err)
	}
	for provider, documented := range map[v1.Provider][]string{
		v1.ProviderAWS: policy.Actions(), v1.ProviderGCP: google, v1.ProviderAzure: {"Storage Blob Data Contributor", "Storage Blob Delegator"},
	} {
		for _, permission := range documented {
			if told := permissions(provider); !strings.Contains(told, permission[strings.LastIndex(permission, ".")+1:]) {
				t.Errorf("%s: %q lacks %s", provider, told, permission)
			}
		}
	}
}
