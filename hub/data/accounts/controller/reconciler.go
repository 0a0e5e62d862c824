package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// verifyPeriod is how often an unchanged account is verified.
	verifyPeriod = time.Hour
	// verifyTimeout bounds one verification: a token exchange, and about a dozen requests in
	// each region at the same time.
	verifyTimeout = 2 * time.Minute
	// identityTimeout bounds reading the identity in one region.
	identityTimeout = 30 * time.Second
	// bucketTimeout bounds the request to the bucket, separately from the verification of
	// the account.
	bucketTimeout = 30 * time.Second
	// retryPeriod is when to retry after the provider did not answer, or denied a request.
	retryPeriod = time.Minute
)

// Reconciler verifies CloudAccounts.
type Reconciler struct {
	client    client.Client
	options   Options
	conflicts retry.Conflicts
}

// Reconcile passes an account to package accounts, verifies it and writes its status.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	account := &v1.CloudAccount{}
	err := r.client.Get(ctx, request.NamespacedName, account)
	switch {
	case apierrors.IsNotFound(err):
		r.options.Accounts.Remove(request.Name)
		return r.conflicts.Retry(r.options.Waits, request, reconcile.Result{}, nil)
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("getting cloud account %q: %w", request.Name, err)
	}
	f, err := r.observe(ctx, account)
	if err != nil {
		return reconcile.Result{}, err
	}
	next := decide(f)
	again := r.options.Waits.Later(f.nextVerification(next))
	return r.conflicts.Retry(r.options.Waits, request, again, r.writeStatus(ctx, account, next))
}

// observe reads the credentials, passes them on, and sends requests to the provider.
func (r *Reconciler) observe(ctx context.Context, account *v1.CloudAccount) (facts, error) {
	f := facts{account: account, now: r.options.Clock.Now()}
	secret, err := r.credentials(ctx, account, &f)
	if err != nil {
		return facts{}, err
	}
	if f.secretMissing {
		r.options.Accounts.Remove(account.Name)
		return f, nil
	}
	r.options.Accounts.Set(account.Name, account.Spec, secret)
	regions, err := r.regions(ctx, account)
	if err != nil {
		return facts{}, err
	}
	if account.Spec.ObjectStorage != nil {
		f.bucketErr = r.checkBucket(ctx, account.Name)
	}
	r.checkProvider(ctx, regions, &f)
	return f, nil
}

// checkProvider reads the identity of the credentials in the first region that answers, and
// checks their permissions in all of them.
func (r *Reconciler) checkProvider(ctx context.Context, regions []string, f *facts) {
	ctx, cancel := context.WithTimeout(ctx, verifyTimeout)
	defer cancel()
	for _, region := range regions {
		if f.identity, f.err = r.identity(ctx, f.account.Name, region); !isTransient(f.err) {
			break // It is known, or would be refused everywhere.
		}
	}
	if f.err != nil {
		return
	}
	f.regions = make([]regionChecks, len(regions))
	var checks sync.WaitGroup
	for i, region := range regions {
		checks.Go(func() {
			session, err := r.options.Accounts.Session(ctx, f.account.Name, region)
			f.regions[i] = regionChecks{region: region, err: err}
			if err == nil {
				f.regions[i].checks, f.regions[i].err = session.Access.Preflight(ctx, cloud.Owner{Hub: r.options.HubUID})
			}
		})
	}
	checks.Wait()
}

// identity reads the identity of the credentials in a region. Another region may answer when
// this one does not in time.
func (r *Reconciler) identity(ctx context.Context, account, region string) (cloud.Identity, error) {
	session, err := r.options.Accounts.Session(ctx, account, region)
	if err != nil {
		return cloud.Identity{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, identityTimeout)
	defer cancel()
	return session.Access.Identity(ctx)
}

// checkBucket lists the first of the hub's objects in an account's bucket.
func (r *Reconciler) checkBucket(ctx context.Context, account string) error {
	bucket, err := r.options.Accounts.Bucket(ctx, account)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bucketTimeout)
	defer cancel()
	for _, err := range bucket.ListObjects(ctx, objectPrefix) {
		return err
	}
	return nil
}

// credentials returns the data of the account's Secret; nil if it needs none.
func (r *Reconciler) credentials(ctx context.Context, account *v1.CloudAccount, f *facts) (map[string][]byte, error) {
	ref := account.Spec.Credentials.SecretRef
	if ref == nil {
		return nil, nil
	}
	secret := &corev1.Secret{}
	err := r.options.Secrets.Get(ctx, client.ObjectKey{Namespace: r.options.Namespace, Name: ref.Name}, secret)
	if apierrors.IsNotFound(err) || err == nil && secret.Labels[v1.CloudAccountLabel] != "true" {
		f.secretMissing = true
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting the credentials of cloud account %q: %w", account.Name, err)
	}
	return secret.Data, nil
}

func (r *Reconciler) writeStatus(ctx context.Context, account *v1.CloudAccount, status v1.CloudAccountStatus) error {
	if equality.Semantic.DeepEqual(account.Status, status) {
		return nil
	}
	before := account.DeepCopy()
	account.Status = status
	lock := retry.MergeFromLocked(before)
	if err := r.client.Status().Patch(ctx, account, lock); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("writing the status of cloud account %q: %w", account.Name, err))
	}
	for _, kind := range []string{v1.ConditionReady, v1.ConditionObjectStorageReady} {
		r.recordTransition(account, meta.FindStatusCondition(before.Status.Conditions, kind), meta.FindStatusCondition(status.Conditions, kind))
	}
	return nil
}

// recordTransition records an event if a condition changed.
func (r *Reconciler) recordTransition(account *v1.CloudAccount, last, now *metav1.Condition) {
	if now == nil || last != nil && last.Status == now.Status && last.Reason == now.Reason {
		return
	}
	kind := corev1.EventTypeNormal
	if now.Status != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	r.options.Recorder.Eventf(account, nil, kind, now.Reason, "Verify", "%s", now.Message)
}
