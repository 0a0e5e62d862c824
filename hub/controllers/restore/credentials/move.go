package credentials

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
)

// Move is the way of an application's data from one member to another.
type Move struct {
	// Source returns the member that the data is from.
	Source func(ctx context.Context) (cluster.Cluster, error)
	// Target is the member that it goes to.
	Target cluster.Cluster
	// From and To are their names, for messages.
	From, To string
	App      client.ObjectKey
}

// Bring brings the passwords that are in the data to a member that has never had the
// database. The error is the target's.
func (m Move) Bring(ctx context.Context) (stepresult.Result, error) {
	missing, err := Missing(ctx, m.Target, m.App)
	if err != nil || missing == "" {
		return stepresult.Result{}, err
	}
	source, err := m.Source(ctx)
	if err == nil {
		err = Carry(ctx, source, m.Target, m.App)
	}
	if err == nil {
		return stepresult.Result{}, nil
	}
	wait := stepresult.Member
	if apierrors.IsForbidden(err) {
		wait = stepresult.Refused
	}
	return stepresult.Hold(wait, v1.ReasonCredentialsMissing,
		"the claims are there, but the database's passwords are not: Secret %s of %s could not be brought to %s; make it there by hand if %s is lost",
		missing, m.From, m.To, m.From), nil
}

// Same reports whether two members that both run the application ask its database with the
// same passwords, which the data is going to have.
func (m Move) Same(ctx context.Context) stepresult.Result {
	differs := ""
	source, err := m.Source(ctx)
	if err == nil {
		differs, err = Differ(ctx, source, m.Target, m.App)
	}
	switch {
	case err != nil:
		return stepresult.Hold(stepresult.Member, v1.ReasonCredentialsMissing,
			"whether the data of %s has the passwords that the database in %s is asked with, is not known while their Secrets cannot be read", m.From, m.To)
	case differs != "":
		return stepresult.Fail(v1.ReasonCredentialsMissing, "the data of %s has other passwords than the database in %s is asked with: "+
			"give both one Secret by spec.database.credentialsSecretRef, or make Secret %s the same", m.From, m.To, differs)
	default:
		return stepresult.Result{}
	}
}
