package controller

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func account() *v1.CloudAccount {
	return &v1.CloudAccount{
		ObjectMeta: metav1.ObjectMeta{Name: "prod", Generation: 3},
		Spec: v1.CloudAccountSpec{Provider: v1.ProviderAWS, Credentials: v1.CloudCredentials{
			Type: v1.CredentialsSecret, SecretRef: &v1.LocalSecretReference{Name: "keys"},
		}},
	}
}

func of(class cloud.Class, code string) error {
	return fmt.Errorf("asking: %w", &cloud.Error{Class: class, Code: code, Message: "said so", RequestID: "r-1"})
}

func TestDecide(t *testing.T) {
	t.Parallel()
	granted := []cloud.PermissionCheck{{Permission: "ec2:CreateSnapshot", Granted: true, By: "dry run"}}
	checked := func(checks ...cloud.PermissionCheck) []regionChecks {
		return []regionChecks{{region: "eu-west-1", checks: append(checks, granted...)}}
	}
	me := cloud.Identity{Name: "arn:aws:iam::123456789012:role/backup", Account: "123456789012"}
	tests := map[string]struct {
		facts   facts
		ready   metav1.ConditionStatus
		reason  string
		message string
	}{
		"verified":         {facts{identity: me, regions: checked()}, metav1.ConditionTrue, v1.ReasonVerified, "The hub is authenticated as " + me.Name},
		"no Secret":        {facts{secretMissing: true}, metav1.ConditionFalse, v1.ReasonSecretNotFound, `Secret "keys" is not in the hub's namespace, or lacks the label ecommerce.io/cloud-account: "true"`},
		"wrong key":        {facts{err: of(cloud.ClassAuthExpired, "InvalidClientTokenId")}, metav1.ConditionFalse, v1.ReasonUnauthorized, "the provider rejects the credentials: InvalidClientTokenId"},
		"another account":  {facts{err: of(cloud.ClassDenied, "WrongAccount")}, metav1.ConditionFalse, v1.ReasonWrongAccount, "said so"},
		"may not even ask": {facts{err: of(cloud.ClassDenied, "AccessDenied")}, metav1.ConditionFalse, v1.ReasonForbidden, "the provider denies reading the identity of the credentials: AccessDenied"},
		"spec":             {facts{err: of(cloud.ClassInvalid, "")}, metav1.ConditionFalse, v1.ReasonInvalidSpec, "said so"},
		"throttled":        {facts{err: of(cloud.ClassThrottled, "")}, metav1.ConditionUnknown, v1.ReasonThrottled, "the provider throttles requests"},
		"down":             {facts{err: of(cloud.ClassTransient, "")}, metav1.ConditionUnknown, v1.ReasonCloudUnavailable, "the provider does not answer"},
		"one verb missing": {facts{identity: me, regions: checked(cloud.PermissionCheck{Permission: "ec2:DeleteSnapshot", By: "dry run"}, cloud.PermissionCheck{Permission: "ec2:CopySnapshot", By: "dry run"})},
			metav1.ConditionFalse, v1.ReasonPermissionsMissing, "the identity lacks ec2:CopySnapshot, ec2:DeleteSnapshot in eu-west-1: grant it the permissions of cloud/README.md"},
		"permissions not told": {facts{identity: me, regions: []regionChecks{{region: "eu-west-1", err: of(cloud.ClassTransient, "")}}}, metav1.ConditionTrue, v1.ReasonVerified, "The hub is authenticated as " + me.Name},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.facts.account, tt.facts.now = account(), noon()
			next := decide(tt.facts)
			got := meta.FindStatusCondition(next.Conditions, v1.ConditionReady)
			want := &metav1.Condition{
				Type: v1.ConditionReady, Status: tt.ready, Reason: tt.reason, Message: tt.message,
				ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(noon()),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ready (-want +got):\n%s", diff)
			}
			if next.ObservedGeneration != 3 || len(next.Conditions) != 3 {
				t.Errorf("generation %d, conditions %v", next.ObservedGeneration, next.Conditions)
			}
			nextVerification := tt.facts
			nextVerification.account.Status, nextVerification.now = next, noon().Add(time.Minute)
			if diff := cmp.Diff(next, decide(nextVerification)); diff != "" {
				t.Errorf("a minute later the same is not the same (-first +second):\n%s", diff)
			}
		})
	}
}

// TestAnOutageIsNoFault checks that an account that was verified within the hour stays ready.
func TestAnOutageIsNoFault(t *testing.T) {
	t.Parallel()
	f := facts{account: account(), now: noon(), identity: cloud.Identity{Name: "me"}}
	f.account.Status = decide(f)
	down := facts{account: f.account, err: of(cloud.ClassTransient, ""), now: noon().Add(59 * time.Minute)}
	if diff := cmp.Diff(f.account.Status, decide(down)); diff != "" {
		t.Errorf("status (-before +after):\n%s", diff)
	}
	if wait := down.nextVerification(f.account.Status); wait != retryPeriod {
		t.Errorf("asked nextVerification after %s", wait)
	}
	down.now = noon().Add(61 * time.Minute)
	if meta.IsStatusConditionTrue(decide(down).Conditions, v1.ConditionReady) {
		t.Error("ready on what was true an hour ago")
	}
	changed := down
	changed.now, changed.account = noon().Add(time.Minute), f.account.DeepCopy()
	changed.account.Generation++
	if meta.IsStatusConditionTrue(decide(changed).Conditions, v1.ConditionReady) {
		t.Error("ready on what another spec said")
	}
}
