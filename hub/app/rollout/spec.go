package rollout

import (
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// RevisionSpec returns the spec of an application as it is rolled out: its own, with the server of the database that
// status.rollout has in place of a later major version of MySQL. The spec of the application may be a part of it.
func RevisionSpec(app *v1.EcommerceApp) *v1.EcommerceAppSpec {
	last := app.Status.Rollout
	if app.Spec.Rollout == nil || last == nil || last.DatabaseServer == nil || !app.Spec.Database.RaisesMajor(*last.DatabaseServer) {
		return &app.Spec
	}
	spec := app.Spec
	spec.Database = app.Spec.Database.DeepCopy()
	spec.Database.SetServer(*last.DatabaseServer)
	return &spec
}

// ServerUntilComplete returns the server of the database that clusters get until the rollout is complete: that of the
// revision that is rolled out, if the spec raises the major version of MySQL. Some clusters may have an earlier one,
// from which MySQL cannot upgrade to that of the spec. It returns nil if the spec does not wait.
func ServerUntilComplete(app *v1.EcommerceApp, released *v1.Database) *v1.DatabaseServer {
	last := app.Status.Rollout
	if last == nil || last.State == v1.RolloutComplete {
		return nil
	}
	server := released.Server()
	if last.DatabaseServer != nil {
		server = *last.DatabaseServer
	}
	if server == (v1.DatabaseServer{}) || !app.Spec.Database.RaisesMajor(server) {
		return nil
	}
	return &server
}

// WithWaitingServer adds to the message of a rollout that the server of a database waits until it is complete.
func WithWaitingServer(message string, db *v1.Database) string {
	waits := "MySQL " + db.ExactVersion() + " waits until the rollout is complete"
	switch {
	case message == "":
		return waits
	case strings.HasSuffix(message, waits) || len(message)+len("; ")+len(waits) > maxMessage:
		return message
	default:
		return message + "; " + waits
	}
}
