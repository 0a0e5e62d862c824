package restore

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/hub/controllers/restore/credentials"
)

// carrySecrets brings the passwords that are in the data to a cluster that has never had
// the database.
func (w *work) carrySecrets(ctx context.Context) stepresult.Result {
	if w.targetFacts.copy != nil || w.member.Name == w.backup.Spec.ClusterRef.Name {
		return stepresult.Result{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	v, err := w.move().Bring(ctx)
	if err != nil {
		return w.memberTrouble(err)
	}
	return v
}

// samePasswords reports whether both clusters ask the database with the same passwords.
func (w *work) samePasswords(ctx context.Context) stepresult.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	return w.move().Same(ctx)
}

func (w *work) move() credentials.Move {
	return credentials.Move{
		Source: func(ctx context.Context) (cluster.Cluster, error) {
			return w.options.Member(ctx, multicluster.ClusterName(w.backup.Spec.ClusterRef.Name))
		},
		Target: w.targetFacts.cluster, From: w.backup.Spec.ClusterRef.Name, To: w.member.Name,
		App: client.ObjectKey{Namespace: w.restore.Namespace, Name: w.backup.Spec.AppRef.Name},
	}
}
