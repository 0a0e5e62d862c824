package apitest

import (
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

// AWS sets an account of Amazon Web Services.
func (b *AccountBuilder) AWS(id string) *AccountBuilder {
	b.account.Spec.Provider, b.account.Spec.AWS = v1.ProviderAWS, &v1.AWSAccount{AccountID: id}
	return b
}

// Secret sets credentials in a Secret.
func (b *AccountBuilder) Secret(name string) *AccountBuilder {
	b.account.Spec.Credentials = v1.CloudCredentials{Type: v1.CredentialsSecret, SecretRef: &v1.LocalSecretReference{Name: name}}
	return b
}
