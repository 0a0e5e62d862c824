// Package setup composes the spoke: the reconcilers of EcommerceApp, WebApp and
// MySQLCluster in one cluster, without any hub.
//
// # What
//
// Run builds the scheme, the manager with its caches, probes, metrics and leader
// election, and the controllers, and runs them until its context ends.
//
// # Not
//
// No environment beyond what client-go reads to find a kubeconfig, and no behaviour:
// that is package controller. What both processes have in common is package operator.
//
// # Trade-offs
//
// A CRD that is missing keeps only its own kind from being reconciled, until it
// is there. Nothing ends because of it: a crash loop would tell less than a log.
package setup
