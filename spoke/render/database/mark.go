package database

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// ExitLost is the exit code of the init container of a primary whose volume is empty although the database
// was created before.
const ExitLost = 66

// Keys of the Secret with the mark of a database.
const (
	// CreatedKey is true if there is, or was, a database. The init container of the primary initializes
	// its volume only if it is false.
	CreatedKey = "created"
	// ConsentKey is the Consent that made the last initialization possible, as long as it counts.
	ConsentKey = "consent"
	// StartEmptyKey is the last token of a user, and LoadKey the last Restore, that consented.
	StartEmptyKey = "startEmpty"
	LoadKey       = "load"
)

// Consent is why a database that was created before may be initialized again.
type Consent string

// The consents.
const (
	// ConsentStartEmpty means that a user wants an empty database.
	ConsentStartEmpty Consent = "StartEmpty"
	// ConsentLoad means that a dump is being loaded. The data is lost until that has succeeded.
	ConsentLoad Consent = "Load"
)

// Mark records whether a database was created. It is kept outside of the volume, as the credentials are.
type Mark struct {
	Created bool
	// Consent is empty unless the database is initialized again.
	Consent Consent
	// StartEmpty and Load are the last consents, which count once.
	StartEmpty, Load string
}

// MarkName returns the name of the Secret with the mark.
func (s Spec) MarkName() string { return s.name("-created", objectparts.MaxName) }

// MarkSecret returns the Secret with a mark. It has no owner: it stays when the application is deleted.
func (s Spec) MarkSecret(m Mark) (*corev1.Secret, error) {
	e, err := s.engine()
	if err != nil {
		return nil, err
	}
	return objectparts.Secret(s.renderer(e).part, s.MarkName(), map[string]string{
		CreatedKey: strconv.FormatBool(m.Created), ConsentKey: string(m.Consent),
		StartEmptyKey: m.StartEmpty, LoadKey: m.Load,
	}), nil
}

// ReadMark returns the mark in a Secret, and nil if that is nil or says nothing.
func ReadMark(secret *corev1.Secret) *Mark {
	if secret == nil {
		return nil
	}
	created, err := strconv.ParseBool(string(secret.Data[CreatedKey]))
	if err != nil {
		return nil
	}
	return &Mark{
		Created: created, Consent: Consent(secret.Data[ConsentKey]),
		StartEmpty: string(secret.Data[StartEmptyKey]), Load: string(secret.Data[LoadKey]),
	}
}
