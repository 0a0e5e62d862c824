package account

import (
	"crypto/tls"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// ours is what the keys of all our objects begin with.
const ours = "shopfleet/"

// bucketAlone tells whether the credentials are good for the bucket and not for the
// provider, as those of another service that speaks its language are.
func (f *facts) bucketAlone() bool {
	storage := f.account.Spec.ObjectStorage
	return storage != nil && storage.Endpoint != "" && !f.secretMissing &&
		f.bucketErr == nil && cloud.ClassOf(f.err) == cloud.ClassAuthExpired
}

// bucket says whether the bucket of the account can be listed. What the provider says to
// the credentials does not matter: the bucket may be somebody else's.
func (f *facts) bucket() metav1.Condition {
	if f.secretMissing {
		return unknown(v1.ReasonNotChecked, "the credentials come first")
	}
	name := f.account.Spec.ObjectStorage.Bucket
	if f.bucketErr == nil {
		return metav1.Condition{
			Status: metav1.ConditionTrue, Reason: v1.ReasonVerified,
			Message: fmt.Sprintf("The hub can list bucket %q; whether it may write there, the first dump tells", name),
		}
	}
	// With the cause at hand this is no outage, whatever the class is.
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](f.bucketErr); untrusted {
		return no(v1.ReasonInvalidSpec, fmt.Sprintf("the certificate of the endpoint of bucket %q is not trusted: "+
			"spec.objectStorage.caBundle must hold the authority that signed it", name))
	}
	e, fromCloud := errors.AsType[*cloud.Error](f.bucketErr)
	if fromCloud && !passing(e) {
		return f.refusedBucket(name, e)
	}
	last := meta.FindStatusCondition(f.account.Status.Conditions, v1.ConditionObjectStorageReady)
	if last != nil && last.Status == metav1.ConditionTrue && f.recent() {
		return *last // Nothing is known to be wrong.
	}
	if fromCloud && e.Class == cloud.ClassThrottled {
		return unknown(v1.ReasonThrottled, "the provider asks to wait")
	}
	return unknown(v1.ReasonCloudUnavailable, fmt.Sprintf("bucket %q does not answer; if it never did, see spec.objectStorage.endpoint", name))
}

func (f *facts) refusedBucket(name string, e *cloud.Error) metav1.Condition {
	switch e.Class {
	case cloud.ClassInvalid, cloud.ClassUnsupported:
		return no(v1.ReasonInvalidSpec, e.Message)
	case cloud.ClassNotFound:
		return no(v1.ReasonBucketNotFound, fmt.Sprintf("bucket %q is not there%s; make it, or correct spec.objectStorage", name, said(e)))
	case cloud.ClassAuthExpired:
		return no(v1.ReasonUnauthorized, fmt.Sprintf("bucket %q does not accept the credentials%s", name, said(e)))
	case cloud.ClassDenied:
		return no(v1.ReasonForbidden, fmt.Sprintf("the provider refuses to list bucket %q%s; give the identity %s",
			name, said(e), permissions(f.account.Spec.Provider)))
	default:
		return no(v1.ReasonCloudRefused, fmt.Sprintf("the provider refuses to list bucket %q%s", name, said(e)))
	}
}

// permissions are what the hub needs in a bucket, in the words of a provider.
func permissions(provider v1.Provider) string {
	switch provider {
	case v1.ProviderAWS:
		return "s3:ListBucket there, and s3:GetObject, s3:PutObject and s3:DeleteObject below its prefix"
	case v1.ProviderGCP:
		return "storage.objects.list, get, create and delete there"
	default:
		return "the roles Storage Blob Data Contributor there and Storage Blob Delegator in the storage account"
	}
}
