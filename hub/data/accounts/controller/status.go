package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// facts is the input of decide.
type facts struct {
	account *v1.CloudAccount
	// secretMissing is true if the Secret does not exist, or lacks its label.
	secretMissing bool
	// err is the error of reading the identity.
	err      error
	identity cloud.Identity
	// regions are the results of the permission checks in each region in use.
	regions []regionChecks
	// bucketErr is the error of listing the bucket, if the account has one.
	bucketErr error
	now       time.Time
}

// decide returns the status for the facts.
func decide(f facts) v1.CloudAccountStatus {
	next := *f.account.Status.DeepCopy()
	set := func(kind string, c metav1.Condition) {
		c.Type, c.ObservedGeneration, c.LastTransitionTime = kind, f.account.Generation, metav1.NewTime(f.now)
		meta.SetStatusCondition(&next.Conditions, c)
	}
	var bucket metav1.Condition
	if f.account.Spec.ObjectStorage == nil {
		meta.RemoveStatusCondition(&next.Conditions, v1.ConditionObjectStorageReady)
	} else {
		bucket = f.bucket()
		set(v1.ConditionObjectStorageReady, bucket)
	}
	if !isTransient(f.err) || !f.isVerified() { // Otherwise nothing is known to be wrong.
		f.setAccountConditions(&next, bucket, set)
	}
	slices.SortFunc(next.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return next
}

// setAccountConditions sets the conditions and the identity of the account itself.
func (f *facts) setAccountConditions(next *v1.CloudAccountStatus, bucket metav1.Condition, set func(string, metav1.Condition)) {
	next.ObservedGeneration = f.account.Generation
	valid := f.credentials()
	permissions := f.authorized(valid)
	set(v1.ConditionCredentialsValid, valid)
	set(v1.ConditionAuthorized, permissions)
	set(v1.ConditionReady, ready(valid, permissions, bucket))
	if valid.Status != metav1.ConditionTrue {
		return
	}
	changed := next.Identity != f.identity.Name || f.account.Status.ObservedGeneration != f.account.Generation
	next.Identity = f.identity.Name
	last := f.account.Status.LastVerifiedTime
	if changed || last == nil || f.now.Sub(last.Time) >= verifyPeriod {
		next.LastVerifiedTime = v1.Seconds(f.now)
	}
}

// isVerified reports whether the current spec was verified successfully within the last
// period.
func (f *facts) isVerified() bool {
	return f.isRecent() && meta.IsStatusConditionTrue(f.account.Status.Conditions, v1.ConditionReady)
}

// isRecent reports whether the status is about the current spec, and from the last period.
func (f *facts) isRecent() bool {
	last := f.account.Status.LastVerifiedTime
	return last != nil && f.now.Sub(last.Time) < verifyPeriod && f.account.Status.ObservedGeneration == f.account.Generation
}

// isTransient reports whether an error passes without intervention and says nothing about
// the account.
func isTransient(err error) bool {
	switch cloud.ClassOf(err) {
	case cloud.ClassTransient, cloud.ClassThrottled, cloud.ClassAmbiguous, cloud.ClassQuota:
		return true
	default:
		return false
	}
}

// nextVerification returns when to verify again.
func (f *facts) nextVerification(next v1.CloudAccountStatus) time.Duration {
	switch {
	case f.secretMissing:
		return verifyPeriod // The watch of the Secret triggers a reconciliation.
	case f.err != nil && cloud.RetryAfter(f.err) > retryPeriod:
		return cloud.RetryAfter(f.err)
	case f.bucketAlone():
		return verifyPeriod // Repeated attempts with invalid credentials would look like an attack.
	case f.err != nil, f.unfinished(), f.bucketErr != nil, !meta.IsStatusConditionTrue(next.Conditions, v1.ConditionReady):
		return retryPeriod
	default:
		return verifyPeriod
	}
}

// credentials returns the condition CredentialsValid.
func (f *facts) credentials() metav1.Condition {
	switch {
	case f.secretMissing:
		return no(v1.ReasonSecretNotFound, fmt.Sprintf("Secret %q is not in the hub's namespace, or lacks the label %s: \"true\"",
			f.account.Spec.Credentials.SecretRef.Name, v1.CloudAccountLabel))
	case f.err == nil:
		return metav1.Condition{
			Status: metav1.ConditionTrue, Reason: v1.ReasonValid,
			Message: fmt.Sprintf("The hub is authenticated as %s", f.identity.Name),
		}
	}
	var e *cloud.Error
	if !errors.As(f.err, &e) {
		return unknown(v1.ReasonCloudUnavailable, "the request to the provider failed")
	}
	switch e.Class {
	case cloud.ClassInvalid, cloud.ClassUnsupported:
		return no(v1.ReasonInvalidSpec, e.Message)
	case cloud.ClassAuthExpired:
		message := "the provider rejects the credentials" + codeSuffix(e)
		if f.bucketAlone() {
			message += "; the bucket accepts them, so dumps can be uploaded but no snapshots can be taken"
		}
		return no(v1.ReasonUnauthorized, message)
	case cloud.ClassDenied, cloud.ClassNotFound:
		if e.Code == v1.ReasonWrongAccount {
			return no(v1.ReasonWrongAccount, e.Message)
		}
		return no(v1.ReasonForbidden, "the provider denies reading the identity of the credentials"+codeSuffix(e))
	case cloud.ClassThrottled:
		return unknown(v1.ReasonThrottled, "the provider throttles requests")
	default:
		return unknown(v1.ReasonCloudUnavailable, "the provider does not answer")
	}
}

// authorized returns the condition Authorized.
func (f *facts) authorized(valid metav1.Condition) metav1.Condition {
	if valid.Status != metav1.ConditionTrue {
		return unknown(v1.ReasonNotChecked, "the credentials are not verified yet")
	}
	return authorized(f.regions)
}

// unfinished reports whether the permissions of a region could not be checked.
func (f *facts) unfinished() bool {
	return slices.ContainsFunc(f.regions, func(r regionChecks) bool { return r.err != nil })
}

// ready returns the first condition that is not True. A bucket that is not ready does not
// affect it.
func ready(valid, authorized, bucket metav1.Condition) metav1.Condition {
	if valid.Status != metav1.ConditionTrue {
		return valid
	}
	if authorized.Status == metav1.ConditionFalse {
		return authorized
	}
	message := valid.Message
	if bucket.Status == metav1.ConditionFalse {
		message += "; dumps are not sent: " + bucket.Message
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonVerified, Message: message}
}

// codeSuffix returns the provider's error code, for a deterministic message.
func codeSuffix(e *cloud.Error) string {
	if e.Code == "" {
		return ""
	}
	return ": " + e.Code
}

func no(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func unknown(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionUnknown, Reason: reason, Message: message}
}
