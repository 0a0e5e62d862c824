package controller

import (
	"crypto/tls"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// objectPrefix is the common prefix of all objects of hubs.
const objectPrefix = "shopfleet/"

// bucketAlone reports whether the credentials are valid for the bucket but not for the provider,
// such as credentials of another S3-compatible service.
func (f *facts) bucketAlone() bool {
	storage := f.account.Spec.ObjectStorage
	return storage != nil && storage.Endpoint != "" && !f.secretMissing &&
		f.bucketErr == nil && cloud.ClassOf(f.err) == cloud.ClassAuthExpired
}

// bucket returns the condition ObjectStorageReady. It does not depend on whether the
// provider accepts the credentials: the bucket may belong to another service.
func (f *facts) bucket() metav1.Condition {
	if f.secretMissing {
		return unknown(v1.ReasonNotChecked, "the credentials are not verified yet")
	}
	name := f.account.Spec.ObjectStorage.Bucket
	if f.bucketErr == nil {
		return metav1.Condition{
			Status: metav1.ConditionTrue, Reason: v1.ReasonVerified,
			Message: fmt.Sprintf("The hub can list bucket %q; write access is not verified before the first dump", name),
		}
	}
	// This is a configuration error rather than an outage, whatever the class.
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](f.bucketErr); untrusted {
		return no(v1.ReasonInvalidSpec, fmt.Sprintf("the certificate of the endpoint of bucket %q is not trusted: set "+
			"spec.objectStorage.caBundle to the authority that signed it", name))
	}
	e, fromCloud := errors.AsType[*cloud.Error](f.bucketErr)
	if fromCloud && !isTransient(e) {
		return f.refusedBucket(name, e)
	}
	last := meta.FindStatusCondition(f.account.Status.Conditions, v1.ConditionObjectStorageReady)
	if last != nil && last.Status == metav1.ConditionTrue && f.isRecent() {
		return *last // Nothing is known to be wrong.
	}
	if fromCloud && e.Class == cloud.ClassThrottled {
		return unknown(v1.ReasonThrottled, "the provider throttles requests")
	}
	return unknown(v1.ReasonCloudUnavailable, fmt.Sprintf("the endpoint of bucket %q does not answer; check spec.objectStorage.endpoint if it never did", name))
}

func (f *facts) refusedBucket(name string, e *cloud.Error) metav1.Condition {
	switch e.Class {
	case cloud.ClassInvalid, cloud.ClassUnsupported:
		return no(v1.ReasonInvalidSpec, e.Message)
	case cloud.ClassNotFound:
		return no(v1.ReasonBucketNotFound, fmt.Sprintf("bucket %q does not exist%s: create it, or correct spec.objectStorage", name, codeSuffix(e)))
	case cloud.ClassAuthExpired:
		return no(v1.ReasonUnauthorized, fmt.Sprintf("bucket %q rejects the credentials%s", name, codeSuffix(e)))
	case cloud.ClassDenied:
		return no(v1.ReasonForbidden, fmt.Sprintf("the identity is not allowed to list bucket %q%s: grant it %s",
			name, codeSuffix(e), permissions(f.account.Spec.Provider)))
	default:
		return no(v1.ReasonCloudRefused, fmt.Sprintf("the provider denies listing bucket %q%s", name, codeSuffix(e)))
	}
}

// permissions returns the permissions that the hub needs in a bucket, in the terms of a
// provider.
func permissions(provider v1.Provider) string {
	switch provider {
	case v1.ProviderAWS:
		return "s3:ListBucket and s3:ListBucketVersions there, and s3:GetObject, s3:PutObject, s3:DeleteObject and s3:DeleteObjectVersion below its prefix"
	case v1.ProviderGCP:
		return "storage.objects.list, get, create and delete there"
	default:
		return "the roles Storage Blob Data Contributor there and Storage Blob Delegator in the storage account"
	}
}
