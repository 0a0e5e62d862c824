// Package render renders the objects of a spec.
//
// # Purpose
//
// EcommerceApp, WebApp and MySQLCluster return, for an object and the facts about its
// cluster, the components with all their objects, in the order in which they are written.
// The result depends on the arguments only. An error means that the spec cannot be
// rendered; it names the field and a valid value.
//
// Containers get these environment variables: PORT; the backend also DB_ENGINE, DB_HOST,
// DB_PORT, DB_NAME, DB_USER, DB_PASSWORD and DATABASE_URL, which has all of
// them, percent-encoded; the frontend also BACKEND_URL. The user's env and envFrom take precedence.
//
// While a dump is loaded into the database, as an annotation of the copy says, backend and
// frontend are scaled to zero; nothing else changes.
//
// # Non-goals
//
// The package uses no client, clock or randomness, and does not consider existing objects:
// passwords and certificates are requested, not generated. The writer adds owner references
// and hashes. Package database renders databases, and package objectparts has what all
// objects share.
//
// # Trade-offs
//
// The probes of backend and frontend only open the port unless the spec has paths: users
// provide the images, so none can be assumed. The containers run as user 65532 regardless of the image,
// because the restricted Pod Security Standard forbids root and a user name cannot be
// verified. A sysctl that the standard allows lets them listen on ports below 1024, so
// that nginx:1.25 listens on 80 without a capability.
//
// The preStop hook is the sleep action of the kubelet (Kubernetes 1.30), because an image
// may have no shell: endpoints are removed before the process gets SIGTERM.
//
// An HTTPRoute has no field for a certificate, which the listener of its Gateway refers to, so that the
// Secret is created and the user names it there. An application that names a Gateway and no class gets
// no Ingress in a cluster that does not serve HTTPRoutes: it would admit requests where the user did
// not ask for it.
//
// Login is an oauth2-proxy between Ingress or HTTPRoute and frontend, which works with any
// controller. The network policy of the frontend then admits only the proxy. Without
// credentials, and without domains or groups of users, the proxy runs and rejects all
// logins: a shop must not admit every account of a public provider because a field is absent.
//
// When cert-manager is to replace a self-signed certificate, that stays in use until the
// Certificate is ready, as the fallback of the component.
//
// Settings are in a ConfigMap whose name has a hash of them: pods of the version before read theirs until
// all are replaced. What names the cluster is updated in place, because a region that becomes known, or
// a hub that adopts an application, must restart no pod. So ConfigMaps are not immutable for the API
// server; another one for what changes in place would be three more objects of each application.
//
// Prometheus rules are encoded as JSON, which is valid YAML.
package render
