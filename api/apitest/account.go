package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// AccountBuilder builds a CloudAccount.
type AccountBuilder struct {
	account v1.CloudAccount
}

// CloudAccount returns a builder for an account with ambient credentials. Call AWS, GCP or
// Azure on it.
func CloudAccount(name string) *AccountBuilder {
	b := &AccountBuilder{}
	b.account.SetGroupVersionKind(v1.GroupVersion.WithKind("CloudAccount"))
	b.account.Name = name
	b.account.Spec.Credentials.Type = v1.CredentialsAmbient
	return b
}

// Obj returns a copy of the object.
func (b *AccountBuilder) Obj() *v1.CloudAccount { return b.account.DeepCopy() }

// With applies f to the object.
func (b *AccountBuilder) With(change func(*v1.CloudAccount)) *AccountBuilder {
	change(&b.account)
	return b
}

// AWS sets an account of Amazon Web Services.
func (b *AccountBuilder) AWS(id string) *AccountBuilder {
	b.account.Spec.Provider, b.account.Spec.AWS = v1.ProviderAWS, &v1.AWSAccount{AccountID: id}
	return b
}

// GCP sets a project of Google Cloud.
func (b *AccountBuilder) GCP(project string) *AccountBuilder {
	b.account.Spec.Provider, b.account.Spec.GCP = v1.ProviderGCP, &v1.GCPAccount{Project: project}
	return b
}

// Azure sets a resource group of Azure.
func (b *AccountBuilder) Azure(subscription, group string) *AccountBuilder {
	b.account.Spec.Provider = v1.ProviderAzure
	b.account.Spec.Azure = &v1.AzureAccount{SubscriptionID: subscription, ResourceGroup: group}
	return b
}

// Secret sets credentials in a Secret.
func (b *AccountBuilder) Secret(name string) *AccountBuilder {
	b.account.Spec.Credentials = v1.CloudCredentials{Type: v1.CredentialsSecret, SecretRef: &v1.LocalSecretReference{Name: name}}
	return b
}

// Ready sets the condition Ready to True.
func (b *AccountBuilder) Ready() *AccountBuilder {
	b.account.Status.Conditions = []metav1.Condition{{
		Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonVerified,
	}}
	return b
}
