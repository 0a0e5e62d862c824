package cloud_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// secret makes the credentials of an account.
func (s *suite) secret(t *testing.T, name string, data map[string][]byte) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: name, Labels: map[string]string{v1.CloudAccountLabel: "true"}},
		Data:       data,
	}
	s.Create(t, secret)
	return secret
}

// account makes a CloudAccount.
func (s *suite) account(t *testing.T, name string, spec v1.CloudAccountSpec) *v1.CloudAccount {
	t.Helper()
	account := &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *spec.DeepCopy()}
	account.Spec.Credentials = secretNamed(name)
	s.Create(t, account)
	return account
}

// testAccounts verifies accounts: without keys, with wrong ones, with good ones.
func (s *suite) testAccounts(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		account := s.account(t, p.account(), p.spec)
		s.awaitCondition(t, account, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSecretNotFound)
		secret := s.secret(t, p.account(), p.wrong)
		s.awaitCondition(t, account, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonUnauthorized)
		framework.Edit(t, s.Hub, secret, func(secret *corev1.Secret) { secret.Data = p.secret })
		s.awaitCondition(t, account, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonVerified)
		if account.Status.Identity != p.identity || account.Status.LastVerifiedTime == nil {
			t.Errorf("the identity is %q, verified %v, want %q", account.Status.Identity, account.Status.LastVerifiedTime, p.identity)
		}
		s.refer(t, p.member, p.account())
	})
	s.refer(t, second, s.aws().account())
}

// awaitObserved blocks until the hub works with an account as its spec is now.
func (s *suite) awaitObserved(t *testing.T, account *v1.CloudAccount) {
	t.Helper()
	framework.Await(t, s.Hub, account, "the account to be observed", func(*v1.CloudAccount) error {
		if account.Status.ObservedGeneration != account.Generation {
			return fmt.Errorf("generation %d is observed, want %d", account.Status.ObservedGeneration, account.Generation)
		}
		return nil
	})
}

// refer gives a member its account.
func (s *suite) refer(t *testing.T, member, account string) {
	t.Helper()
	framework.Edit(t, s.Hub, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: member}}, func(m *v1.MemberCluster) {
		m.Spec.CloudAccountRef = &v1.ObjectReference{Name: account}
	})
}

// testUnusableAccounts meets accounts that cannot be used.
func (s *suite) testUnusableAccounts(t *testing.T) {
	t.Helper()
	s.each(t, func(t *testing.T, p *provider) {
		t.Helper()
		name := "poor-" + p.account()
		s.secret(t, name, p.poor.secret)
		account := s.account(t, name, p.poor.spec)
		c := s.awaitCondition(t, account, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPermissionsMissing)
		if !strings.Contains(c.Message, p.permission) {
			t.Errorf("the message %q does not name %s", c.Message, p.permission)
		}
		s.awaitCondition(t, account, v1.ConditionCredentialsValid, metav1.ConditionTrue, v1.ReasonValid)
		s.Delete(t, account)
	})
	t.Run("another account's keys", func(t *testing.T) {
		p := s.aws()
		s.secret(t, "stranger", p.secret)
		spec := p.spec.DeepCopy()
		spec.AWS.AccountID = "210987654321"
		account := s.account(t, "stranger", *spec)
		c := s.awaitCondition(t, account, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonWrongAccount)
		t.Logf("%s", c.Message)
		framework.Edit(t, s.Hub, account, func(a *v1.CloudAccount) { a.Spec.AWS.AccountID = awsAccount })
		s.awaitCondition(t, account, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonVerified)
		s.Delete(t, account)
	})
}
