package database

import corev1 "k8s.io/api/core/v1"

// Client is the configuration of a pod that connects to the database as the application
// does, and accesses its dumps.
type Client struct {
	// Image is the image of the engine, which includes client programs.
	Image string
	// Env configures these programs, with references to the credentials.
	Env []corev1.EnvVar
	// Labels are pod labels that the database's network policy admits and that no Service
	// selects.
	Labels map[string]string
}

// UserID is the user and group ID that owns dumps, and of the pods that create them.
const UserID = userID

// LoadingTable is a table that exists in a MySQL database from the start of a load until
// one completes. Such a database is not dumped.
const LoadingTable = "shopfleet_loading"

// Client returns the configuration of a client pod. An error names the field that must
// change.
func (s Spec) Client() (Client, error) {
	e, err := s.engine()
	if err != nil {
		return Client{}, err
	}
	r := s.renderer(e)
	return Client{Image: e.image, Env: e.clientEnv(r), Labels: r.backupPart().PodLabels()}, nil
}

// BackupsClaim returns the name of the claim that holds the dumps.
func (s Spec) BackupsClaim() string { return renderer{Spec: s}.backupName() }
