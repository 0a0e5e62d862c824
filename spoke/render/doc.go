// Package render turns a spec into the objects that it stands for.
//
// # What
//
// EcommerceApp, WebApp and MySQLCluster: from an object and what its cluster
// serves to components with all their objects, in the order in which they are
// written. The same arguments give the same components. An error means that the
// spec cannot be rendered, and names the field and what to give instead.
//
// What the containers are told: PORT; the backend DB_ENGINE, DB_HOST, DB_PORT,
// DB_NAME, DB_USER, DB_PASSWORD and DATABASE_URL, which is made of them and
// therefore needs a password without the characters that URLs give a meaning to,
// as generated ones are; the frontend BACKEND_URL. A user's env and envFrom win.
//
// While a dump is loaded into its database, as an annotation of the copy says, a shop's
// backend and frontend have no pods; all else is as always.
//
// # Not
//
// No client, clock or randomness, and nothing of what exists: passwords and
// certificates are asked for, not made. Owner references and hashes are added by
// the writer. Databases have a package of their own, and so has what all objects
// have in common.
//
// # Trade-offs
//
// Probes of backend and frontend open the port and no more: the images are the
// user's, and no path can be expected to answer. They run as user 65532 whatever
// the image says, since the restricted standard forbids root and a user given by
// name cannot be checked. A port below 1024 is opened to them by a sysctl that
// the standard allows, so that nginx:1.25 listens on 80 without a capability.
//
// The preStop hook is the kubelet's own sleep (Kubernetes 1.30), because an image
// may have no shell: endpoints are withdrawn before the process is told to stop.
//
// The login is a proxy between the Ingress and the frontend, which works with
// any ingress controller, and the network policy of the frontend then admits it
// alone. Without credentials the proxy runs and lets nobody in.
//
// Prometheus' rules are written as JSON, which is YAML too.
package render
