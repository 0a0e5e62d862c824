package database

import corev1 "k8s.io/api/core/v1"

// Client is how a pod beside the database reaches it as the application does, and works
// with its dumps.
type Client struct {
	// Image is the engine's own, which has its client's programs.
	Image string
	// Env tells these programs where the database is, and the credentials by reference.
	Env []corev1.EnvVar
	// Labels, on a pod, have the database's network policy admit it, and no Service of
	// the application's send it requests.
	Labels map[string]string
}

// UserID is the user and group that dumps belong to, and the pods that make them run as.
const UserID = userID

// LoadingTable is the name of the table that is in a MySQL database while a dump is loaded
// into it, and after that until one is loaded to its end. Such a database is not dumped.
const LoadingTable = "shopfleet_loading"

// Client returns how a pod reaches the database. An error names the field that must change.
func (s Spec) Client() (Client, error) {
	e, err := s.engine()
	if err != nil {
		return Client{}, err
	}
	r := s.renderer(e)
	return Client{Image: e.image, Env: e.clientEnv(r), Labels: r.backupPart().PodLabels()}, nil
}

// BackupsClaim returns the name of the claim that the CronJob dumps to.
func (s Spec) BackupsClaim() string { return renderer{Spec: s}.backupName() }
